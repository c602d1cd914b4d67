"""A kill, or a power cut, in each step of a round of cleaning loses no key's value.

A whole broker is killed by its pid, in the course of the steps that take a cleaned
segment in and before, while its process writes. What a power cut may leave is made of
a recording: any part of what was not synced is on the disk or not.
"""

import os
import random
import shutil
import time
from copy import deepcopy
from pathlib import Path
from typing import Any

import confluent_kafka
import confluent_kafka.admin
import pytest

from tests.broker_process import BrokerProcess, running_broker
from tests.crash.recording import RecordingFiles
from tests.storage.cleaner.cleaner_model import Model

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
SEEDS, STRIDE, RANDOMS = (8, 2, 4) if IS_LONG else (2, 19, 1)
STEPS = range(1, 300, 3) if IS_LONG else (3, 11)
TIMEOUT_S = 30
ROOT = Path(__file__).parents[2]
TOPIC = "table"
CONFIG = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": "4000",
    "min.cleanable.dirty.ratio": "0.01",
}
EAGER = ("-o", "log.cleaner.backoff.ms=10")
IDLE = ("-o", "log.cleaner.backoff.ms=3600000")
ROUND_IS_OVER = "is clean up to"
Table = dict[bytes, bytes]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_any_part_of_a_round_on_the_disk_is_a_whole_log(seed: int) -> None:
    chance = random.Random(seed)
    model = Model(chance, RecordingFiles())
    for _ in range(40):
        model.step()
    for _ in range(20):
        model.end_transaction()
    model.roll()
    model.append()
    model.settle()
    before = deepcopy(model)
    assert isinstance(model.files, RecordingFiles)
    recording = model.files.record()
    recording.promise(None)
    assert model.clean()
    survived = 0
    moments = range(recording.start + seed % STRIDE, len(recording.changes) + 1, STRIDE)
    for crash in recording.all_crashes(moments, RANDOMS, chance):
        try:
            before.round_times = list(model.round_times)
            again = before.on(recording.disk(crash))
            again.touched_end = model.touched_end
            again.check()
            again.round()
            again.check()
        except Exception as error:
            error.add_note(f"seed {seed}, {crash}")
            raise
        survived += 1
    assert survived > 10


class DyingBroker(BrokerProcess):
    """It kills itself at a step; see `dying_broker`."""

    def __init__(self, data_dir: Path, step: int) -> None:
        super().__init__(data_dir, EAGER)
        self.environment |= {"DIES_AT": str(step), "PYTHONPATH": str(ROOT)}
        self.module = "tests.crash.dying_broker"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Table]]:
    """The directory of a broker that has not cleaned, and what readers make of it."""
    data_dir = tmp_path_factory.mktemp("filled") / "data"
    with running_broker(data_dir, *IDLE) as broker:
        fill(broker)
        tables = read_both(broker)
        broker.terminate()
    assert not list(data_dir.glob("*/*.cleaned"))
    return data_dir, tables


@pytest.mark.timeout(600)
def test_a_broker_that_is_killed_in_a_step_of_a_round_has_the_same_keys(
    tmp_path: Path, filled: tuple[Path, list[Table]]
) -> None:
    template, tables = filled
    for step in STEPS:
        data_dir = tmp_path / f"step-{step}"
        shutil.copytree(template, data_dir)
        broker = DyingBroker(data_dir, step)
        broker.launch()
        is_over = wait_for_death(broker)
        print(step, broker.log().rpartition("dies at ")[2])  # shown by -s
        try:
            check_next_life(data_dir, tables, goes_on=IS_LONG)
        except BaseException as error:
            error.add_note(f"step {step}: {broker.log()}")
            raise
        if is_over:
            return
    assert not IS_LONG, "the round has more steps"


@pytest.mark.timeout(600)
def test_a_broker_that_is_killed_while_segments_are_written_has_the_same_keys(
    tmp_path: Path, filled: tuple[Path, list[Table]]
) -> None:
    template, tables = filled
    data_dir = tmp_path / "data"
    shutil.copytree(template, data_dir)
    broker = BrokerProcess(data_dir, EAGER)
    broker.start()
    deadline = time.monotonic() + TIMEOUT_S
    while not list(data_dir.glob("*/*.cleaned")) and ROUND_IS_OVER not in broker.log():
        assert time.monotonic() < deadline, broker.log()
    broker.kill()
    check_next_life(data_dir, tables)


def wait_for_death(broker: BrokerProcess) -> bool:
    """Whether it has outlived the round."""
    assert broker.process is not None
    deadline = time.monotonic() + TIMEOUT_S
    while broker.process.poll() is None:
        assert time.monotonic() < deadline, broker.log()
        if ROUND_IS_OVER in broker.log():
            broker.kill()
            return True
        time.sleep(0.01)
    broker.kill()
    return False


def check_next_life(
    data_dir: Path, tables: list[Table], *, goes_on: bool = True
) -> None:
    """The same keys after the reload, and after another round."""
    with running_broker(data_dir, *EAGER) as broker:
        check_tables(read_both(broker), tables)
        deadline = time.monotonic() + TIMEOUT_S
        while goes_on and ROUND_IS_OVER not in broker.log():
            assert time.monotonic() < deadline, broker.log()
            time.sleep(0.01)
        if goes_on:
            check_tables(read_both(broker), tables)
            assert not list(data_dir.glob("*/*.cleaned"))
        assert "Traceback" not in broker.log()


def check_tables(found: list[Table], before: list[Table]) -> None:
    """Who reads what was aborted, too, may miss it once it is cleaned away."""
    assert found[0] == before[0]
    for key in found[1].keys() | before[0].keys():
        assert found[1].get(key) in [table.get(key) for table in before]


def fill(broker: BrokerProcess) -> None:
    address: dict[str, Any] = {"bootstrap.servers": broker.address}
    admin = confluent_kafka.admin.AdminClient(address)
    topic = confluent_kafka.admin.NewTopic(TOPIC, 1, 1, config=CONFIG)
    admin.create_topics([topic])[TOPIC].result(TIMEOUT_S)
    chance = random.Random(1)
    producer = confluent_kafka.Producer({**address, "transactional.id": "one"})
    producer.init_transactions(TIMEOUT_S)
    for number in range(24):
        producer.begin_transaction()
        for _ in range(10):
            value = chance.randbytes(60) if chance.random() < 0.9 else None
            producer.produce(TOPIC, value, b"key %d" % chance.randrange(25))
        producer.flush(TIMEOUT_S)
        if number % 3 == 1:
            producer.abort_transaction(TIMEOUT_S)
        else:
            producer.commit_transaction(TIMEOUT_S)
    plain = confluent_kafka.Producer({**address, "enable.idempotence": True})
    for number in range(60):
        plain.produce(TOPIC, b"%d" % number + bytes(90), b"plain %d" % (number % 9))
        plain.flush(TIMEOUT_S)


def read_both(broker: BrokerProcess) -> list[Table]:
    """The tables that committed readers and others make of the topic."""
    return [read(broker, level) for level in ("read_committed", "read_uncommitted")]


def read(broker: BrokerProcess, isolation_level: str) -> Table:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation_level,
            "check.crcs": True,
            "fetch.wait.max.ms": 10,
        }
    )
    table: dict[bytes, bytes | None] = {}
    try:
        consumer.assign([confluent_kafka.TopicPartition(TOPIC, 0, 0)])
        last = -1
        while True:
            message: Any = consumer.poll(TIMEOUT_S)
            assert message is not None
            if message.error() is not None:
                code = message.error().code()
                assert code == confluent_kafka.KafkaError._PARTITION_EOF
                break
            assert message.offset() > last
            last = message.offset()
            table[message.key()] = message.value()
    finally:
        consumer.close()
    return {key: value for key, value in table.items() if value is not None}

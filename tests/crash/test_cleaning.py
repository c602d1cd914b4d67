"""A kill, or a power cut, in each step of a round of cleaning loses no key's value.

A whole broker is killed by its pid, in the course of the steps that take a cleaned
segment in and before, while its process writes. What a power cut may leave is made of
a recording: any part of what was not synced is on the disk or not.
"""

import os
import random
import re
import shutil
import time
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import confluent_kafka
import confluent_kafka.admin
import pytest

from tests.broker_process import BrokerProcess, running_broker
from tests.crash.recording import RecordingFiles
from tests.patience import PATIENCE_S
from tests.storage.cleaner.cleaner_model import Model

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
SEEDS, STRIDE, RANDOMS = (8, 2, 4) if IS_LONG else (2, 19, 1)
STEPS = range(1, 500, 3) if IS_LONG else (3, 40)
ROOT = Path(__file__).parents[2]
POLICIES = {"table": "compact", "both": "compact,delete"}
GROUPS = ("group-0", "group-1", "group-2")
CONFIG = {
    "internal.segment.bytes": "4000",
    "min.cleanable.dirty.ratio": "0.01",
    "retention.ms": "-1",
}
INTERNAL = (
    *("-o", "offsets.topic.num.partitions=1"),
    *("-o", "transaction.state.log.num.partitions=1"),
)
EAGER = ("-o", "log.cleaner.backoff.ms=10", *INTERNAL)
IDLE = ("-o", "log.cleaner.backoff.ms=3600000", *INTERNAL)
LOGS = ("table-0", "both-0", "__consumer_offsets-0", "__transaction_state-0")
Table = dict[bytes, bytes]


class State(NamedTuple):
    """What clients are told: tables by topic and isolation, offsets by group."""

    tables: dict[str, list[Table]]
    committed: dict[str, int]


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
    before = model.on(deepcopy(model.files))
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
    print(f"seed {seed}: {survived} disks")  # shown by -s
    assert survived > 10


class DyingBroker(BrokerProcess):
    """It kills itself at a step; see `dying_broker`."""

    def __init__(self, data_dir: Path, step: int) -> None:
        super().__init__(data_dir, EAGER)
        self.environment |= {"DIES_AT": str(step), "PYTHONPATH": str(ROOT)}
        self.module = "tests.crash.dying_broker"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, State]:
    """The directory of a broker that has not cleaned, and what clients see of it."""
    data_dir = tmp_path_factory.mktemp("filled") / "data"
    with running_broker(data_dir, *IDLE) as broker:
        for topic, policy in POLICIES.items():
            fill(broker, topic, policy)
            commit_offsets(broker)
            make_segments_small(broker)
        state = state_of(broker)
        broker.terminate()
    assert not list(data_dir.glob("*/*.cleaned"))
    for name in LOGS:
        assert len(list((data_dir / name).glob("*.log"))) > 2, name
    return data_dir, state


def test_a_broker_that_is_killed_in_a_step_of_a_round_has_the_same_keys(
    tmp_path: Path, filled: tuple[Path, State]
) -> None:
    template, state = filled
    for step in STEPS:
        data_dir = tmp_path / f"step-{step}"
        shutil.copytree(template, data_dir)
        broker = DyingBroker(data_dir, step)
        broker.launch()
        is_over = wait_for_death(broker)
        print(step, broker.log().rpartition("dies at ")[2])  # shown by -s
        try:
            check_next_life(data_dir, state, goes_on=IS_LONG)
        except BaseException as error:
            error.add_note(f"step {step}: {broker.log()}")
            raise
        if is_over:
            return
    assert not IS_LONG, "the round has more steps"


def test_a_broker_that_is_killed_while_segments_are_written_has_the_same_keys(
    tmp_path: Path, filled: tuple[Path, State]
) -> None:
    template, state = filled
    data_dir = tmp_path / "data"
    shutil.copytree(template, data_dir)
    broker = BrokerProcess(data_dir, EAGER)
    broker.start()
    deadline = time.monotonic() + PATIENCE_S
    while not list(data_dir.glob("*/*.cleaned")) and not has_cleaned(broker):
        assert time.monotonic() < deadline, broker.log()
    broker.kill()
    check_next_life(data_dir, state)


def wait_for_death(broker: BrokerProcess) -> bool:
    """Whether it has outlived the rounds."""
    assert broker.process is not None
    deadline = time.monotonic() + PATIENCE_S
    while broker.process.poll() is None:
        assert time.monotonic() < deadline, broker.log()
        if has_cleaned(broker):
            broker.kill()
            return True
        time.sleep(0.01)
    broker.kill()
    return False


def check_next_life(data_dir: Path, state: State, *, goes_on: bool = True) -> None:
    """The same keys and offsets after the reload, and after the other rounds."""
    with running_broker(data_dir, *EAGER) as broker:
        check(state_of(broker), state)
        begin_transaction(broker)
        if goes_on:
            wait_until_clean(broker)
            check(state_of(broker), state)
            begin_transaction(broker)
        assert "Traceback" not in broker.log()


def has_cleaned(broker: BrokerProcess) -> bool:
    return all(
        re.search(rf"\[{name} in [^]]+\] it is clean up to", broker.log())
        for name in LOGS
    )


def wait_until_clean(broker: BrokerProcess) -> None:
    """Every log was cleaned up to its active segment, in this life or before."""
    checkpoint = broker.data_dir / "cleaner-offset-checkpoint"
    deadline = time.monotonic() + PATIENCE_S
    while True:
        lines = checkpoint.read_text().splitlines() if checkpoint.exists() else []
        known = {tuple(line.rsplit(" ", 1)) for line in lines}
        if {
            (name.replace("-0", " 0"), last_base(broker, name)) for name in LOGS
        } <= known:
            return
        assert time.monotonic() < deadline, broker.log()
        time.sleep(0.01)


def last_base(broker: BrokerProcess, name: str) -> str:
    bases = [int(path.stem) for path in (broker.data_dir / name).glob("*.log")]
    return str(max(bases))


def check(found: State, before: State) -> None:
    assert found.committed == before.committed
    for topic, tables in before.tables.items():
        check_tables(found.tables[topic], tables)


def check_tables(found: list[Table], before: list[Table]) -> None:
    """Who reads what was aborted, too, may miss it once it is cleaned away."""
    assert found[0] == before[0]
    for key in found[1].keys() | before[0].keys():
        assert found[1].get(key) in [table.get(key) for table in before]


def fill(broker: BrokerProcess, topic: str, policy: str) -> None:
    address: dict[str, Any] = {"bootstrap.servers": broker.address}
    admin = confluent_kafka.admin.AdminClient(address)
    config = CONFIG | {"cleanup.policy": policy}
    made = admin.create_topics(
        [confluent_kafka.admin.NewTopic(topic, 1, 1, config=config)]
    )
    made[topic].result(PATIENCE_S)
    chance = random.Random(1)
    producer = confluent_kafka.Producer({**address, "transactional.id": "one"})
    producer.init_transactions(PATIENCE_S)
    for number in range(24):
        producer.begin_transaction()
        for _ in range(10):
            value = chance.randbytes(60) if chance.random() < 0.9 else None
            producer.produce(topic, value, b"key %d" % chance.randrange(25))
        producer.flush(PATIENCE_S)
        if number % 3 == 1:
            producer.abort_transaction(PATIENCE_S)
        else:
            producer.commit_transaction(PATIENCE_S)
    plain = confluent_kafka.Producer({**address, "enable.idempotence": True})
    for number in range(60):
        plain.produce(topic, b"%d" % number + bytes(90), b"plain %d" % (number % 9))
        plain.flush(PATIENCE_S)


def make_segments_small(broker: BrokerProcess) -> None:
    """Those of the internal topics, from now on."""
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": broker.address})
    entry = confluent_kafka.admin.ConfigEntry(
        "internal.segment.bytes",
        "4000",
        incremental_operation=confluent_kafka.admin.AlterConfigOpType.SET,
    )
    for topic in ("__consumer_offsets", "__transaction_state"):
        resource = confluent_kafka.admin.ConfigResource(
            confluent_kafka.admin.ResourceType.TOPIC, topic, incremental_configs=[entry]
        )
        altered = admin.incremental_alter_configs([resource])
        altered[resource].result(PATIENCE_S)


def commit_offsets(broker: BrokerProcess) -> None:
    """As groups do, each offset in its turn."""
    for group in GROUPS:
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": broker.address, "group.id": group}
        )
        for offset in range(40):
            place = confluent_kafka.TopicPartition("table", 0, offset)
            consumer.commit(offsets=[place], asynchronous=False)
        consumer.close()


def begin_transaction(broker: BrokerProcess) -> None:
    """The broker knows the transactional id, and nothing of it is left open."""
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": broker.address, "transactional.id": "one"}
    )
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.abort_transaction(PATIENCE_S)


def state_of(broker: BrokerProcess) -> State:
    tables = {
        topic: [
            read(broker, topic, level)
            for level in ("read_committed", "read_uncommitted")
        ]
        for topic in POLICIES
    }
    committed = {}
    for group in GROUPS:
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": broker.address, "group.id": group}
        )
        place = confluent_kafka.TopicPartition("table", 0)
        (found,) = consumer.committed([place], timeout=PATIENCE_S)
        committed[group] = found.offset
        consumer.close()
    return State(tables, committed)


def read(broker: BrokerProcess, topic: str, isolation_level: str) -> Table:
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
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        last = -1
        while True:
            message: Any = consumer.poll(PATIENCE_S)
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

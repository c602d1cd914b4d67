"""A backup under load, restored: all that was acknowledged before is there, whole.

Idempotent producers, transactions over two topics, compaction and commits go on, topics
come and go, segments are removed at once. The oracle is this process: what it was told
before it asked for a backup. Kills come in the middle. A backup takes longer the more
segments there are, and meanwhile there are more; so each broker has a few backups only.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import confluent_kafka
import confluent_kafka.admin
import pytest

from tests.broker_process import BrokerProcess, ended, running_broker
from tests.crash.backup_load import GROUP, Churn, Overwriting, Transactions, consumer
from tests.crash.test_kill import (
    PARTITIONS,
    Load,
    create_topic,
    latest_offsets,
    progress,
    read_partition,
)
from tests.patience import PATIENCE_S

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
BROKERS, ROUNDS = (4, 2) if IS_LONG else (1, 1)
OPTIONS = (
    *("-o", "log.roll.ms=300", "-o", "log.segment.delete.delay.ms=0"),
    *("-o", "log.cleaner.backoff.ms=50", "-o", "log.retention.check.interval.ms=200"),
    *("-o", "log.cleaner.min.cleanable.ratio=0.01"),
)


def odradek(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "odradek", *map(str, arguments)]


def run(*arguments: object, code: int = 0) -> str:
    done = subprocess.run(
        odradek(*arguments), capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


@contextmanager
def repeated(*actions: Callable[[int], None]) -> Iterator[None]:
    """Each of them again and again, with a number that rises, in its own thread."""
    stop, errors = threading.Event(), []

    def repeat(action: Callable[[int], None]) -> None:
        number = 0
        try:
            while not stop.is_set():
                action(number)
                number += 1
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=repeat, args=(each,)) for each in actions]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not errors


def read(address: str, topic: str, partitions: int = PARTITIONS) -> list[Any]:
    """What committed readers see of a topic, partition by partition."""
    found, open_count = [], partitions
    with closing(consumer(address, "read_committed")) as reader:
        at = confluent_kafka.TopicPartition
        reader.assign([at(topic, number, 0) for number in range(partitions)])
        while open_count:
            for message in reader.consume(1000, 0.05):
                error = message.error()
                if error is None:
                    found.append(message)
                else:
                    assert error.code() == confluent_kafka.KafkaError._PARTITION_EOF
                    open_count -= 1
    return found


def read_numbers(address: str, topic: str) -> list[int]:
    return sorted(int(message.value()) for message in read(address, topic))


def latest_values(address: str) -> dict[int, int]:
    """For each key of the compacted topic the number that was written last."""
    return {
        int(message.key()): int(message.value().rstrip(b"."))
        for message in read(address, "compacted")
    }


def short_topics(address: str) -> set[int]:
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": address})
    names = admin.list_topics(timeout=PATIENCE_S).topics
    return {int(name[6:]) for name in names if name.startswith("short-")}


def committed_offset(address: str) -> int:
    places = [confluent_kafka.TopicPartition("left", 0)]
    with closing(consumer(address, "read_committed", GROUP)) as reader:
        return int(reader.committed(places, PATIENCE_S)[0].offset)


class Promise(NamedTuple):
    """What this process had been told before it asked for a backup."""

    numbers: list[dict[int, int]]
    transactions: list[int]
    overwritten: int
    made: int


def check_restored(address: str, promised: Promise, asked: int) -> None:
    for partition, end in enumerate(latest_offsets(address, "numbers")):
        found = read_partition(address, "numbers", partition, end)
        assert found == list(range(len(found)))
        for offset, number in promised.numbers[partition].items():
            assert found[offset] == number
    left, right = (read_numbers(address, topic) for topic in ("left", "right"))
    assert left == right == sorted(set(left))
    assert set(promised.transactions) <= set(left)
    assert all(number % 3 for number in left)
    if promised.transactions:
        assert max(promised.transactions) <= committed_offset(address) <= max(left)
    if promised.overwritten >= 0:
        values = latest_values(address)
        assert set(values) == set(range(Overwriting.KEYS))
        assert min(values.values()) >= promised.overwritten
    # Only what was asked to be deleted meanwhile may be missing.
    there = short_topics(address)
    assert there >= set(range(asked, promised.made)), (there, asked, promised.made)
    for number in there & set(range(promised.made)):
        (record,) = read(address, f"short-{number}", 2)
        assert record.value() == b"x" * 100_000


@pytest.mark.parametrize("_number", range(BROKERS))
def test_backups_under_load_have_all_that_was_acknowledged(
    tmp_path: Path, _number: int
) -> None:
    data = tmp_path / "data"
    promised = []
    with running_broker(data, *OPTIONS) as broker:
        for topic in ("numbers", "left", "right"):
            create_topic(broker, topic)
        create_topic(broker, "compacted", **{"cleanup.policy": "compact"})
        transactions = Transactions(broker.address)
        transactions.prepare()
        churn, writing = Churn(broker.address), Overwriting(broker.address)
        with (
            Load(broker.address, "numbers") as load,
            repeated(churn.change, writing.write, transactions.run_one),
        ):
            for number in range(ROUNDS):
                progress(load, 3000)
                told = Promise(
                    [dict(each) for each in load.acknowledged],
                    list(transactions.committed),
                    writing.acknowledged,
                    churn.made,
                )
                run("backup", "--data-dir", data, tmp_path / f"backup-{number}")
                promised.append((told, churn.asked))
        assert "Traceback" not in broker.log(), broker.log()[-6000:]
        wait_until_let_go(data)
    for number, (told, asked) in enumerate(promised):
        backup, new = tmp_path / f"backup-{number}", tmp_path / f"new-{number}"
        run("restore", backup, "--data-dir", new)
        run("fsck", new, "--deep")
        with running_broker(new) as restored:
            check_restored(restored.address, told, asked)
            with Load(restored.address, "numbers") as load:
                progress(load, 100)
            assert "Traceback" not in restored.log()
            assert restored.terminate()
        run("fsck", new)
    # The broker and the restored one have written on, and changed no backup.
    for number in range(ROUNDS):
        run("restore", tmp_path / f"backup-{number}", "--check")


def wait_until_let_go(data: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while held := [name for name in os.listdir(data) if name.endswith("-delete")]:
        assert time.monotonic() < deadline, held
        time.sleep(0.05)


@contextmanager
def slow_backup(broker: BrokerProcess, target: Path) -> Iterator[subprocess.Popen[str]]:
    """A backup that is stopped (SIGSTOP) while the broker holds what it copies."""
    command = odradek("backup", "--data-dir", broker.data_dir, target)
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with ended(process):
        while not any(n.endswith("-delete") for n in os.listdir(broker.data_dir)):
            assert process.poll() is None, process.communicate()
            time.sleep(0.0005)
        process.send_signal(signal.SIGSTOP)
        yield process


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path / "data", *OPTIONS) as broker:
        create_topic(broker, "numbers")
        with Load(broker.address, "numbers") as load:
            progress(load, 20_000)
            while not has_rolled(broker.data_dir):
                progress(load, 1000)
        yield broker


def has_rolled(data_dir: Path) -> bool:
    """Each partition has a segment that is written no more: one to be linked."""
    logs = [list(each.glob("*.log")) for each in data_dir.glob("numbers-*")]
    return all(len(each) > 1 for each in logs)


def test_a_backup_that_is_killed_leaves_nothing_that_is_called_one(
    filled: BrokerProcess, tmp_path: Path
) -> None:
    with slow_backup(filled, tmp_path / "backup") as process:
        process.kill()
        process.wait()
        assert not (tmp_path / "backup").exists()
    wait_until_let_go(filled.data_dir)
    run("backup", "--data-dir", filled.data_dir, tmp_path / "backup")
    assert not (tmp_path / "backup.partial").exists()
    run("restore", tmp_path / "backup", "--check")


@pytest.mark.long
def test_a_broker_that_is_killed_meanwhile_starts_without_a_trace(
    filled: BrokerProcess, tmp_path: Path
) -> None:
    with slow_backup(filled, tmp_path / "backup") as process:
        filled.kill()
        filled.start()
        wait_until_let_go(filled.data_dir)
        process.send_signal(signal.SIGCONT)
        _, errors = process.communicate(timeout=PATIENCE_S)
    # It had copied all before the kill, or says that it could not.
    whole = (tmp_path / "backup").exists()
    assert whole or "has gone" in errors or "ended before" in errors, errors
    assert not (tmp_path / "backup.partial").exists()
    assert "Traceback" not in filled.log() + errors
    run("fsck", filled.data_dir)


def test_a_broker_that_stops_lets_go_and_says_so(
    filled: BrokerProcess, tmp_path: Path
) -> None:
    with slow_backup(filled, tmp_path / "backup") as process:
        filled.terminate()
        assert not [n for n in os.listdir(filled.data_dir) if n.endswith("-delete")]
        process.send_signal(signal.SIGCONT)
        _, errors = process.communicate(timeout=PATIENCE_S)
    if not (tmp_path / "backup").exists():
        assert "nothing was made" in errors or "stopping" in errors, errors
    assert "Traceback" not in errors


@pytest.mark.long
def test_a_stopped_broker_is_backed_up_too(
    filled: BrokerProcess, tmp_path: Path
) -> None:
    ends = latest_offsets(filled.address, "numbers")
    filled.terminate()
    out = run("backup", "--data-dir", filled.data_dir, tmp_path / "backup", "--json")
    assert json.loads(out)["partitions"] == PARTITIONS
    assert json.loads(out)["linkedBytes"] > 0
    run("restore", tmp_path / "backup", "--data-dir", tmp_path / "new")
    with running_broker(tmp_path / "new") as restored:
        assert latest_offsets(restored.address, "numbers") == ends
    filled.start()
    assert latest_offsets(filled.address, "numbers") == ends

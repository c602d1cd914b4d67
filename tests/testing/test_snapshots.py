"""Snapshots from a test's side: taken, forked, gone back to, refused."""

import contextlib
import gc
import json
import os
import shutil
import threading
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from odradek.testing import BadSnapshot, Broker, BrokerError, Refused, Snapshot
from odradek.testing.snapshots import data_dir_in, swap
from tests.patience import PATIENCE_S

SEALED, SMALL = "0/t-0/00000000000000000000.log", "0/catalog.db"


@pytest.fixture
def taken(tmp_path: Path) -> Path:
    """A directory that looks like a snapshot."""
    path = tmp_path / "taken"
    files = {SEALED: b"records", SMALL: b"catalogue"}
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    describe(path, files={name: len(data) for name, data in files.items()})
    return path


def describe(path: Path, **changed: Any) -> None:
    """Write, or change, what a snapshot says of itself."""
    file = path / "snapshot.json"
    content = {
        "snapshot_format": 1,
        "odradek": "9.8.7",
        "directories": 1,
        "sealed": [SEALED],
    }
    if file.exists():
        content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, **changed}))


def why_not(path: Path) -> str:
    """Why a snapshot cannot be used, in one line without its path."""
    with pytest.raises(BadSnapshot) as refused:
        Snapshot(path)
    (line,) = str(refused.value).splitlines()
    return line.replace(str(path), "IT")


def test_what_is_no_snapshot_says_why(taken: Path, tmp_path: Path) -> None:
    assert why_not(tmp_path / "none") == "there is no snapshot at IT"
    (tmp_path / "half.partial").mkdir()
    why = "IT is not a whole snapshot: there is only half.partial"
    assert why_not(tmp_path / "half") == why
    (tmp_path / "other").mkdir()
    why = "IT is not a whole snapshot: it has no snapshot.json"
    assert why_not(tmp_path / "other") == why
    assert why_not(taken / SMALL) == why
    assert Snapshot(taken).path == taken


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (
            {"snapshot_format": 2},
            "IT has snapshot format 2, written by odradek 9.8.7; this one reads formats"
            " up to 1",
        ),
        (
            {"snapshot_format": "1"},
            "IT is not a whole snapshot: snapshot.json makes no",
        ),
        ({"files": 3}, "IT is not a whole snapshot: snapshot.json makes no sense"),
        (
            {"files": {"0/../../x": 1}},
            "IT is not a whole snapshot: snapshot.json makes",
        ),
        (
            {"files": {"": 1}},
            "IT is not a whole snapshot: snapshot.json makes no sense",
        ),
        ({"sealed": None}, "IT is not a whole snapshot: snapshot.json makes no sense"),
        ({"files": {"0/x": 1}}, "IT is not a whole snapshot: 0/x is missing"),
        (
            {"files": {SEALED: 8}},
            f"IT is not a whole snapshot: {SEALED} has 7 bytes, and had 8",
        ),
        ({"directories": 2}, "IT has 2 log directories; a broker for tests has one"),
    ],
)
def test_a_description_that_does_not_fit_says_why(
    taken: Path, changed: dict[str, Any], why: str
) -> None:
    describe(taken, **changed)
    assert why_not(taken).startswith(why)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"snapshot_format": 1}'])
def test_a_torn_description_says_so(taken: Path, text: str) -> None:
    (taken / "snapshot.json").write_text(text)
    assert why_not(taken) == "IT is not a whole snapshot: snapshot.json makes no sense"


def test_a_fork_shares_what_is_sealed_and_nothing_else(
    taken: Path, tmp_path: Path
) -> None:
    fork = tmp_path / "fork"
    Snapshot(taken).fork(fork)
    assert (fork / "t-0" / Path(SEALED).name).samefile(taken / SEALED)
    assert (fork / "catalog.db").read_bytes() == b"catalogue"
    assert not (fork / "catalog.db").samefile(taken / SMALL)


def test_a_fork_has_no_file_elsewhere(taken: Path, tmp_path: Path) -> None:
    """An absolute path behind two slashes would be one in any directory."""
    elsewhere = tmp_path / "elsewhere"
    inside = taken / "0" / str(elsewhere).lstrip("/")
    inside.parent.mkdir(parents=True)
    inside.write_bytes(b"x")
    describe(taken, files={f"0/{elsewhere}": 1})
    with contextlib.suppress(BadSnapshot):  # its folders are not made
        Snapshot(taken).fork(tmp_path / "fork")
    assert not elsewhere.exists()


def test_what_cannot_be_shared_is_copied(
    taken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("another file system")

    monkeypatch.setattr(os, "link", refuse)
    Snapshot(taken).fork(tmp_path / "fork")
    copy = tmp_path / "fork" / "t-0" / Path(SEALED).name
    assert copy.read_bytes() == b"records"
    assert not copy.samefile(taken / SEALED)


def test_a_fork_that_cannot_be_made_leaves_nothing(taken: Path, tmp_path: Path) -> None:
    snapshot = Snapshot(taken)
    (taken / SMALL).unlink()
    with pytest.raises(BadSnapshot, match=r"cannot be forked: .*catalog\.db"):
        snapshot.fork(tmp_path / "fork")
    assert not (tmp_path / "fork").exists()
    (tmp_path / "broker").mkdir()
    with pytest.raises(BadSnapshot, match="cannot be forked"):
        data_dir_in(tmp_path / "broker", snapshot)
    assert not (tmp_path / "broker").exists()


def test_a_swap_that_cannot_be_made_changes_nothing(
    taken: Path, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    snapshot, called = Snapshot(taken), []
    shutil.rmtree(taken)
    with pytest.raises(BadSnapshot, match="cannot be forked"):
        swap(tmp_path / "data", snapshot, lambda: called.append(1))
    assert not called
    assert os.listdir(tmp_path) == ["data"]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker({"log.segment.bytes": 1 << 20}) as broker:
        yield broker


def produce(broker: Broker, topic: str, *values: str) -> None:
    producer = confluent_kafka.Producer(broker.config("confluent"))
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(PATIENCE_S) == 0


def values_of(broker: Broker, topic: str) -> list[str]:
    """All that can be read."""
    consumer = confluent_kafka.Consumer(
        {
            **broker.config("confluent"),
            "group.id": "unused",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    values = []
    try:
        while True:
            message = consumer.poll(PATIENCE_S)
            assert message is not None
            error = message.error()
            if error is not None:
                assert error.code() == confluent_kafka.KafkaError._PARTITION_EOF
                return values
            values.append(message.value().decode())
    finally:
        consumer.close()


def test_forks_begin_with_what_there_was_and_go_their_own_ways(broker: Broker) -> None:
    """T361, as users do it."""
    topic = broker.topic("t")
    produce(broker, topic, "a", "b")
    snapshot = broker.snapshot()
    produce(broker, topic, "origin")
    with Broker(snapshot=snapshot) as one, Broker(snapshot=snapshot.path) as two:
        assert values_of(one, topic) == values_of(two, topic) == ["a", "b"]
        produce(one, topic, "one")
        produce(two, topic, "two")
        assert values_of(one, topic) == ["a", "b", "one"]
        assert values_of(two, topic) == ["a", "b", "two"]
        for fork in (one, two):
            assert "WARNING" not in fork.log()
            assert "recover" not in fork.log()
    assert values_of(broker, topic) == ["a", "b", "origin"]


def test_a_place_where_nothing_can_be_made_is_named(broker: Broker) -> None:
    with pytest.raises(Refused, match="no snapshot: /proc/here: No such file"):
        broker.snapshot("/proc/here")


def test_back_to_a_snapshot_on_the_same_port(broker: Broker) -> None:
    """T365: clients come back by themselves, to the offsets of the snapshot."""
    topic = broker.topic("t")
    group = {**broker.config("confluent"), "group.id": "g"}
    consumer = confluent_kafka.Consumer({**group, "enable.auto.commit": False})
    produce(broker, topic, "a", "b")
    at = [confluent_kafka.TopicPartition(topic, 0, 1)]
    consumer.commit(offsets=at, asynchronous=False)
    snapshot, address = broker.snapshot(), broker.bootstrap
    produce(broker, topic, "c")
    consumer.commit(
        offsets=[confluent_kafka.TopicPartition(topic, 0, 3)], asynchronous=False
    )
    broker.topic("later")
    producer = confluent_kafka.Producer(broker.config("confluent"))
    producer.produce(topic, "before")
    assert producer.flush(PATIENCE_S) == 0
    for _ in range(2):
        broker.reset(to=snapshot)
        assert broker.bootstrap == address
        assert values_of(broker, topic) == ["a", "b"]
        (found,) = consumer.committed(
            [confluent_kafka.TopicPartition(topic, 0)], timeout=PATIENCE_S
        )
        assert found.offset == 1
        producer.produce(topic, "after")
        assert producer.flush(PATIENCE_S) == 0
        assert values_of(broker, topic) == ["a", "b", "after"]
        names = consumer.list_topics(timeout=PATIENCE_S).topics
        assert "later" not in names
    consumer.close()


def test_a_snapshot_while_many_produce_has_whole_batches(broker: Broker) -> None:
    """T360: everything acknowledged before it, in order, and the origin loses none."""
    topic = broker.topic("t")
    is_over = threading.Event()
    delivered: list[str] = []

    def note(error: Any, message: Any) -> None:
        assert error is None
        delivered.append(message.value().decode())

    def run() -> None:
        config = {**broker.config("confluent"), "enable.idempotence": True}
        producer = confluent_kafka.Producer(config)
        numbers = count(1)
        while not is_over.is_set():
            for number in islice(numbers, 20):
                producer.produce(topic, str(number), on_delivery=note)
            producer.poll(0.02)
        assert producer.flush(PATIENCE_S) == 0

    thread = threading.Thread(target=run)
    thread.start()
    snapshots = []
    try:
        while len(snapshots) < 3:
            before = len(delivered)
            if before > 50 * len(snapshots):
                snapshots.append((before, broker.snapshot()))
    finally:
        is_over.set()
        thread.join()
    everything = values_of(broker, topic)
    assert everything == delivered == [str(n + 1) for n in range(len(everything))]
    for before, snapshot in snapshots:
        with Broker(snapshot=snapshot) as fork:
            found = values_of(fork, topic)
            assert len(found) >= before
            assert found == everything[: len(found)]


def test_a_kill_leaves_no_half_snapshot(broker: Broker, tmp_path: Path) -> None:
    """T363: what can be opened is whole, and the origin starts with all it had."""
    topics = [broker.topic(f"t{number}") for number in range(20)]
    for topic in topics:
        produce(broker, topic, "a")
    answers: list[object] = []

    def take(path: Path) -> None:
        try:
            answers.append(broker.snapshot(path))
        except BrokerError as error:
            answers.append(error)

    for name in ("one", "two", "three"):
        path = tmp_path / name
        thread = threading.Thread(target=take, args=[path])
        thread.start()
        partial = path.with_name(f"{name}.partial")
        while thread.is_alive() and not (partial.exists() or path.exists()):
            thread.join(0.001)
        broker.kill()
        thread.join()
        if path.exists():
            Snapshot(path)
        else:
            assert "is not a whole snapshot" in why_not(path) or not partial.exists()
        broker.start()
        for topic in topics[::7]:
            assert values_of(broker, topic) == ["a"]
    assert len(answers) == 3
    broker.snapshot(tmp_path / "three.again")


def test_a_taken_path_is_refused(broker: Broker, tmp_path: Path) -> None:
    broker.snapshot(tmp_path / "deeper" / "one")
    with pytest.raises(Refused, match="one is taken") as refused:
        broker.snapshot(tmp_path / "deeper" / "one")
    assert refused.value.word == "taken"
    (tmp_path / "empty").mkdir()
    assert broker.snapshot(tmp_path / "empty").path == tmp_path / "empty"


def test_one_without_a_path_goes_with_its_last_reference(broker: Broker) -> None:
    snapshot = broker.snapshot()
    path = snapshot.path
    assert path.exists()
    del snapshot
    gc.collect()
    assert not path.parent.exists()


def test_a_broker_of_what_is_no_snapshot_leaves_no_directory(tmp_path: Path) -> None:
    with pytest.raises(BadSnapshot, match="there is no snapshot at"):
        Broker(snapshot=tmp_path / "none")

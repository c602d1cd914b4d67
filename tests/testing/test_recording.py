"""Conversations that are kept and held again, as tests use it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiokafka
import kafka
import pytest
from confluent_kafka import Consumer, Producer

from odradek.testing import (
    BadRecording,
    Broker,
    BrokerError,
    ExternalBroker,
    Refused,
    replay,
)
from odradek.testing.recording import Replayed
from tests.patience import PATIENCE_S

CLIENT = {"client.id": "app"}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """One that is reset by who uses it."""
    with Broker() as broker:
        yield broker


def fresh(broker: Broker) -> Broker:
    """With an empty topic, and nothing else."""
    broker.reset()
    broker.topic("t")
    return broker


def converse(broker: Broker) -> None:
    """All that ids, times and waits have a part in."""
    config = broker.config("confluent") | CLIENT
    for more in ({"enable.idempotence": True}, {"transactional.id": "x"}):
        producer = Producer(config | more)
        if "transactional.id" in more:
            producer.init_transactions()
            producer.begin_transaction()
        for number in range(3):
            producer.produce("t", b"%d" % number, headers={"n": b"1"})
        producer.flush()
        if "transactional.id" in more:
            producer.commit_transaction()
    consumer = Consumer(config | {"group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["t"])
    for _ in range(6):
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        assert message.error() is None
    consumer.commit(asynchronous=False)
    consumer.close()


@pytest.fixture(scope="module")
def recorded(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded") / "r"
    with fresh(broker).record(path, client_id="app") as recording:
        converse(broker)
        assert not path.exists()
    assert recording.calls > 20
    return path


def test_the_same_conversation_has_no_difference(
    broker: Broker, recorded: Path
) -> None:
    found = fresh(broker).replay(recorded)
    assert not found
    assert (found.calls > 20, found.total) == (True, 0)
    # It was held: the records are there, and the offsets.
    assert len(broker.ask("records.read", topic="t")) == 6
    [place] = broker.state().groups["g"]["offsets"]
    assert place["offset"] >= 6  # behind the end of the transaction, or before it


def test_what_is_another_answer_is_shown(broker: Broker, recorded: Path) -> None:
    fresh(broker).ask("records.append", topic="t", records=[{"value": "more"}])
    with pytest.raises(AssertionError, match=r"differences in \d+ calls") as failed:
        broker.replay(recorded)
    assert "base_offset: recorded 0, now 1" in str(failed.value)
    fresh(broker).ask("records.append", topic="t", records=[{"value": "more"}])
    mask = ["base_offset", "responses", "committed_offset", "offset"]
    found = broker.replay(recorded, mask=mask, check=False)
    assert not [each for each in found if each.path.endswith("base_offset")]


def test_a_kafka_that_is_there_is_asked_by_a_command(
    broker: Broker, recorded: Path
) -> None:
    assert not replay(recorded, fresh(broker).bootstrap)
    with ExternalBroker(fresh(broker).bootstrap) as external:
        external.ask("records.append", topic="t", records=[{"value": "more"}])
        found = external.replay(recorded, check=False)
    assert found.total == len(found) > 0
    with pytest.raises(BadRecording, match="no recording at /nowhere"):
        replay("/nowhere", broker.bootstrap)
    with pytest.raises(BrokerError, match=r"127\.0\.0\.1:1"):
        replay(recorded, "127.0.0.1:1")


def test_clients_of_other_libraries(broker: Broker, tmp_path: Path) -> None:
    path = tmp_path / "r"
    with fresh(broker).record(path, client_id="kafka-python*"):
        producer = kafka.KafkaProducer(
            **broker.config("kafka-python"), client_id="kafka-python"
        )
        producer.send("t", b"v").get(PATIENCE_S)
        producer.close()
    assert not fresh(broker).replay(path)


async def test_aiokafka(broker: Broker, tmp_path: Path) -> None:
    path = tmp_path / "r"
    fresh(broker)
    async with broker.aio.record(path, client_id="aio"):
        producer = aiokafka.AIOKafkaProducer(
            **broker.config("aiokafka"), client_id="aio"
        )
        await producer.start()
        await producer.send_and_wait("t", b"v")
        await producer.stop()
    fresh(broker)
    assert not await broker.aio.replay(path)


def test_a_test_that_fails_leaves_the_recording_that_was(
    broker: Broker, tmp_path: Path
) -> None:
    path = tmp_path / "r"
    path.write_text("of yesterday")
    with pytest.raises(ZeroDivisionError), broker.record(path):
        raise ZeroDivisionError
    assert path.read_text() == "of yesterday"
    assert list(tmp_path.iterdir()) == [path]


def test_a_snapshot_is_a_beginning(tmp_path: Path) -> None:
    path = tmp_path / "r"
    with Broker() as origin:
        topic = origin.topic("t")
        topic.produce(["before"])
        snapshot = origin.snapshot()
        with origin.record(path, client_id="app"):
            converse_on(origin)
    with Broker(snapshot=snapshot) as other:
        assert not other.replay(path)


def converse_on(broker: Broker) -> None:
    producer = Producer(broker.config("confluent") | CLIENT)
    producer.produce("t", b"more")
    assert producer.flush(PATIENCE_S) == 0


def test_what_cannot_be_is_refused(broker: Broker, tmp_path: Path) -> None:
    half = tmp_path / "half"
    half.write_text('{"odradek_recording": 1, "odradek": "1", "began_ms": 1}\n')
    with pytest.raises(BadRecording, match="half is not a whole recording"):
        broker.replay(half)
    newer = {"odradek_recording": 2, "odradek": "9", "began_ms": 1}
    half.write_text(json.dumps(newer) + "\n")
    with pytest.raises(BadRecording, match="format 2, written by odradek 9"):
        broker.replay(half)
    with pytest.raises(Refused, match="did you mean client_id"):
        broker.record(half, client_ids="a").__enter__()


def test_of_many_differences_the_first_are_shown() -> None:
    fields: dict[str, Any] = {"api": "Fetch", "version": 4, "path": ".a", "recorded": 1}
    items = [{"difference": {**fields, "call": n, "found": 2}} for n in range(100)]
    found = Replayed.of([*items, {"calls": 900, "differences": 700}])
    lines = str(found).splitlines()
    assert lines[0] == "700 differences in 900 calls:"
    assert lines[1] == "  call 0, Fetch v4: a: recorded 1, now 2"
    assert (len(lines), lines[-1]) == (42, "  and 660 more")

"""From Apache Kafka to odradek: stop the one, adopt, start the other."""

import subprocess
import sys
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka import admin

from tests.apache_kafka.kept_options import described_options, set_options
from tests.apache_kafka.node import KafkaNode
from tests.broker_process import running_broker
from tests.patience import PATIENCE_S

COUNT = 500


def test_what_was_kafkas_is_served_on_and_goes_back(tmp_path: Path) -> None:
    node = KafkaNode(tmp_path)
    node.start()
    try:
        _create(node.address)
        set_options(node.address)
        node.settle()
        options = described_options(node.address)
        _produce(node.address, range(COUNT))
        _transact(node.address)
        _commit(node.address, 123)
    finally:
        node.stop()
    told = _adopt(node)
    lines = {*told.splitlines()}
    assert {"client quotas: 3", "SCRAM credentials: 1", "group options: 1"} <= lines
    assert "note: broker option log.retention.ms=86400000 is the broker's here" in told
    assert "background.threads=8 is not carried over: Means nothing" in told
    with running_broker(node.data_dir) as broker:
        assert _read(broker.address, "numbers", COUNT) == _numbers(range(COUNT))
        assert _read(broker.address, "decided", 2) == [b"kept", b"too"]
        assert _committed(broker.address) == 123
        assert described_options(broker.address) == options
        _produce(broker.address, range(COUNT, COUNT + 10))
        _transact(broker.address)
        assert _read(broker.address, "decided", 4) == 2 * [b"kept", b"too"]
        everything = _read(broker.address, "numbers", COUNT + 10)
        assert everything == _numbers(range(COUNT + 10))
        _commit(broker.address, 456)
        assert "Traceback" not in broker.log()
        broker.terminate()
    try:
        node.start()
        everything = _read(node.address, "numbers", COUNT + 10)
        assert everything == _numbers(range(COUNT + 10))
        assert _read(node.address, "decided", 4) == 2 * [b"kept", b"too"]
        assert _committed(node.address) == 456
    finally:
        node.kill()


@pytest.mark.long
def test_what_a_killed_kafka_preallocated_is_cut_without_a_word(
    tmp_path: Path,
) -> None:
    options = {"log.preallocate": "true", "log.segment.bytes": "4194304"}
    node = KafkaNode(tmp_path, options)
    node.start()
    try:
        _create(node.address)
        _produce(node.address, range(COUNT))
        _transact(node.address)
        _commit(node.address, 123)
    finally:
        node.kill()
    (log,) = node.data_dir.glob("decided-0/*.log")
    assert log.stat().st_size == 4 << 20
    _adopt(node)
    with running_broker(node.data_dir) as broker:
        assert _read(broker.address, "numbers", COUNT) == _numbers(range(COUNT))
        assert _read(broker.address, "decided", 2) == [b"kept", b"too"]
        assert _committed(broker.address) == 123
        _produce(broker.address, range(COUNT, COUNT + 10))
        everything = _read(broker.address, "numbers", COUNT + 10)
        assert everything == _numbers(range(COUNT + 10))
        assert "quarantine" not in broker.log()
        assert "bytes are cut" not in broker.log()
        assert "Traceback" not in broker.log()


def _adopt(node: KafkaNode) -> str:
    """What the command tells."""
    command = [sys.executable, "-m", "odradek", "adopt", str(node.data_dir)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout


def _numbers(numbers: range) -> list[bytes]:
    return [b"%d" % number for number in numbers]


def _create(address: str) -> None:
    client = admin.AdminClient({"bootstrap.servers": address})
    topics = [
        admin.NewTopic("numbers", 1, 1, config={"segment.bytes": "1048576"}),
        admin.NewTopic("decided", 1, 1),
    ]
    for made in client.create_topics(topics).values():
        made.result(PATIENCE_S)


def _produce(address: str, numbers: range) -> None:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": address, "enable.idempotence": True, "linger.ms": 5}
    )
    for value in _numbers(numbers):
        producer.produce("numbers", value)
    assert producer.flush(PATIENCE_S) == 0


def _transact(address: str) -> None:
    """One transaction that is aborted, and one that is committed."""
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": address, "transactional.id": "etl"}
    )
    producer.init_transactions(PATIENCE_S)
    for values, finish in (
        ([b"dropped"], producer.abort_transaction),
        ([b"kept", b"too"], producer.commit_transaction),
    ):
        producer.begin_transaction()
        for value in values:
            producer.produce("decided", value)
        producer.flush(PATIENCE_S)
        finish(PATIENCE_S)


def _consumer(address: str) -> confluent_kafka.Consumer:
    return confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "readers",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )


def _read(address: str, topic: str, count: int) -> list[bytes | None]:
    consumer = _consumer(address)
    try:
        beginning = confluent_kafka.OFFSET_BEGINNING
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, beginning)])
        messages = consumer.consume(count, PATIENCE_S)
        assert all(each.error() is None for each in messages)
        return [each.value() for each in messages]
    finally:
        consumer.close()


def _commit(address: str, offset: int) -> None:
    consumer = _consumer(address)
    place = confluent_kafka.TopicPartition("numbers", 0, offset)
    consumer.commit(offsets=[place], asynchronous=False)
    consumer.close()


def _committed(address: str) -> int:
    consumer = _consumer(address)
    place = confluent_kafka.TopicPartition("numbers", 0)
    try:
        return int(consumer.committed([place], PATIENCE_S)[0].offset)
    finally:
        consumer.close()

"""A consumer that reads a topic again and again while it is written to and cleaned."""

import os
import random
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import confluent_kafka
import pytest

from odradek.testing import Broker
from tests.patience import PATIENCE_S

ROUNDS = 50 if os.environ.get("ODRADEK_LONG") else 3
TOPIC = "table"
KEYS = [b"key %d" % number for number in range(40)]
CONFIG = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": "8000",
    "min.cleanable.dirty.ratio": "0.01",
}
SLOWLY = {"fetch.message.max.bytes": 300, "queued.min.messages": 1}
ROUND_IS_OVER = "is clean up to"


@pytest.fixture(scope="session")
def odradek_config() -> dict[str, str]:
    return {"log.cleaner.backoff.ms": "10", "durability": "commit"}


@pytest.fixture
def broker(odradek_own: Broker) -> Iterator[Broker]:
    odradek_own.topic(TOPIC, config=CONFIG)
    yield odradek_own
    assert "Traceback" not in odradek_own.log()


class Writer:
    """One producer, in a thread: new values of random keys, and tombstones."""

    def __init__(self, address: str) -> None:
        self.written: dict[int, tuple[bytes, bytes | None]] = {}
        self.latest: dict[bytes, int] = {}
        """The offset of the last record of each key that was acknowledged."""
        self._chance = random.Random(ROUNDS)
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": address,
                "enable.idempotence": True,
                "linger.ms": 1,
                "batch.num.messages": 7,
            }
        )
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="writer")

    def __enter__(self) -> "Writer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        assert self._producer.flush(PATIENCE_S) == 0

    def _run(self) -> None:
        while not self._is_over.is_set():
            for _ in range(30):
                key = self._chance.choice(KEYS)
                has_value = self._chance.random() > 0.1
                value = self._chance.randbytes(90) if has_value else None
                self._producer.produce(TOPIC, value, key, on_delivery=self._delivered)
            assert self._producer.flush(PATIENCE_S) == 0
            self._is_over.wait(0.01)

    def _delivered(self, error: object, message: Any) -> None:
        assert error is None
        key, offset = message.key(), message.offset()
        self.written[offset] = key, message.value()
        self.latest[key] = max(offset, self.latest.get(key, -1))


def test_whoever_reads_during_rounds_sees_every_latest_value(broker: Broker) -> None:
    passes = 0
    deadline = time.monotonic() + PATIENCE_S * ROUNDS
    with Writer(broker.bootstrap) as writer:
        while passes < 2 or broker.log().count(ROUND_IS_OVER) < ROUNDS:
            assert time.monotonic() < deadline, broker.log()
            read_once(broker, writer, is_committed=passes % 2 == 0)
            passes += 1
    count = read_once(broker, writer, is_committed=True)
    # A segment has some 60 records of 40 keys: how many more rounds there were in
    # the time of the writer is chance.
    assert count < len(writer.written) - 10, "old values are gone"


def test_whoever_reads_on_while_rounds_overtake_him_sees_every_latest_value(
    broker: Broker,
) -> None:
    """One consumer from 0 to the end: a few records, then a round, and so on."""
    read: dict[int, tuple[bytes, bytes | None]] = {}
    with Writer(broker.bootstrap) as writer, reader(broker, SLOWLY) as consumer:
        for number in range(1, ROUNDS + 1):
            wait_for_rounds(broker, number)
            while len(read) < 3 * number:
                take(consumer, read)
    assert max(read) > len(read), "what he has not read yet was cleaned"
    before = dict(writer.latest)
    with reader(broker) as consumer:
        consumer.seek(confluent_kafka.TopicPartition(TOPIC, 0, max(read) + 1))
        while take(consumer, read):
            pass
    check(read, before, writer)


def wait_for_rounds(broker: Broker, count: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while broker.log().count(ROUND_IS_OVER) < count:
        assert time.monotonic() < deadline, broker.log()
        time.sleep(0.005)


def read_once(broker: Broker, writer: Writer, *, is_committed: bool) -> int:
    """Read from 0 to the end, and see that all is there. Returns how many records."""
    before = dict(writer.latest)
    read: dict[int, tuple[bytes, bytes | None]] = {}
    level = "read_committed" if is_committed else "read_uncommitted"
    with reader(broker, {"isolation.level": level}) as consumer:
        while take(consumer, read):
            pass
    check(read, before, writer)
    return len(read)


@contextmanager
def reader(
    broker: Broker, options: Mapping[str, object] = MappingProxyType({})
) -> Iterator[confluent_kafka.Consumer]:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "check.crcs": True,
            "fetch.message.max.bytes": 5000,  # less than a segment
            "fetch.wait.max.ms": 10,
            **options,
        }
    )
    try:
        consumer.assign([confluent_kafka.TopicPartition(TOPIC, 0, 0)])
        yield consumer
    finally:
        consumer.close()


def take(
    consumer: confluent_kafka.Consumer, read: dict[int, tuple[bytes, bytes | None]]
) -> bool:
    """Whether there was another record; False at the end."""
    message: Any = consumer.poll(PATIENCE_S)
    assert message is not None
    if message.error() is not None:
        code = message.error().code()
        assert code == confluent_kafka.KafkaError._PARTITION_EOF, message.error()
        return False
    assert message.offset() > next(reversed(read), -1), "no offset goes back"
    read[message.offset()] = message.key(), message.value()
    return True


def check(
    read: dict[int, tuple[bytes, bytes | None]],
    before: dict[bytes, int],
    writer: Writer,
) -> None:
    latest = {key: offset for offset, (key, _) in read.items()}
    for key, offset in before.items():
        assert latest.get(key, -1) >= offset, (key, offset)
    for offset, record in read.items():
        assert writer.written.get(offset, record) == record

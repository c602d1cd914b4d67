"""Topics of every kind, written by librdkafka, to be read by Spark."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.patience import PATIENCE_S

TIME_MS = 1_790_000_000_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# What waits that long goes with flush(): one batch, however slow the machine is.
FLUSHED_MS = 60_000

Headers = list[tuple[str, bytes | None]]


def create(
    address: str, topic: str, partitions: int = 1, config: dict[str, str] | None = None
) -> None:
    admin = AdminClient({"bootstrap.servers": address})
    wanted = NewTopic(topic, partitions, 1, config=config or {})
    admin.create_topics([wanted])[topic].result(PATIENCE_S)
    # Apache Kafka's controller has made it; its brokers hear of that a moment later.
    deadline = time.monotonic() + PATIENCE_S
    while admin.list_topics(topic).topics[topic].error is not None:
        assert time.monotonic() < deadline


def delete(address: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": address})
    admin.delete_topics([topic])[topic].result(PATIENCE_S)


def send(
    address: str,
    topic: str,
    values: Sequence[bytes | None],
    partition: int = 0,
    **config: Any,
) -> None:
    """One record for each value, a second apart."""
    producer = Producer(
        {"bootstrap.servers": address, "linger.ms": FLUSHED_MS, **config}
    )
    for number, value in enumerate(values):
        producer.produce(
            topic, value, partition=partition, timestamp=TIME_MS + 1000 * number
        )
    assert producer.flush(PATIENCE_S) == 0


def feed_shapes(address: str, topic: str) -> None:
    """Three partitions: all codecs, nulls, empty ones, headers, large values."""
    create(address, topic, 3)
    header_lists: list[Headers | None] = [
        None,
        [("a", b"1"), ("a", None), ("", b"")],
        [("\u00fc", b"\x00\xff")],
    ]
    for codec in CODECS:
        producer = Producer(
            {"bootstrap.servers": address, "compression.codec": codec, "linger.ms": 20}
        )
        for number in range(60):
            producer.produce(
                topic,
                [None, b"", b"value-%d" % number, bytes(number * 50)][number % 4],
                [b"key-%d" % number, None, b""][number % 3],
                number % 3,
                timestamp=TIME_MS + 10 * number,
                headers=header_lists[number // 3 % 3],
            )
        assert producer.flush(PATIENCE_S) == 0


def feed_transactions(address: str, topic: str) -> None:
    """Committed and aborted transactions, one after the other; the last is open."""
    create(address, topic, 1)
    producer = Producer(
        {"bootstrap.servers": address, "transactional.id": topic, "linger.ms": 5}
    )
    producer.init_transactions(PATIENCE_S)
    for turn in range(6):
        producer.begin_transaction()
        for number in range(7):
            producer.produce(topic, b"%d-%d" % (turn, number), partition=0)
        producer.flush(PATIENCE_S)
        if turn % 3 == 1:
            producer.abort_transaction(PATIENCE_S)
        else:
            producer.commit_transaction(PATIENCE_S)
    send(address, topic, [b"in between"] * 3)


@contextmanager
def open_transaction(
    address: str, topic: str, values: Sequence[bytes]
) -> Iterator[None]:
    """A transaction that is neither committed nor aborted while this lasts."""
    producer = Producer({"bootstrap.servers": address, "transactional.id": "open"})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=0)
    producer.flush(PATIENCE_S)
    yield
    producer.abort_transaction(PATIENCE_S)

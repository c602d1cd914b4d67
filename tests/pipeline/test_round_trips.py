"""Records of mixed shapes, as a Kafka client reads them: by wire, and from disk."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    Producer,
    TopicPartition,
)

from odradek.client.fetcher import Fetcher, FetchLimits
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.records.records_arrow import RecordsToArrow
from odradek.pipeline.segments.directory import DataDirectory
from odradek.pipeline.segments.planning import plan_segments
from odradek.pipeline.segments.reader import read_segments
from odradek.protocol.topic_partition import TopicPartition as Place
from tests.broker_process import running_broker
from tests.client.live import connected
from tests.patience import PATIENCE_S
from tests.pipeline.feeding import CODECS, create
from tests.pipeline.walks import ALL, Row, rows_of

COUNT = 1_000_000 if os.environ.get("ODRADEK_LONG") else 20_000
PARTITIONS = 2
TOPICS = {
    "mixed": {"message.timestamp.type": "CreateTime"},
    "stamped": {"message.timestamp.type": "LogAppendTime"},
}
OPTIONS = ("-o", "log.segment.bytes=4194304")
SPLIT_BYTES = 200_000
ROWS = 500


class Digests:
    """What rows are, in little: a digest of every 500, so that one can be told."""

    def __init__(self) -> None:
        self.count = 0
        self._made: list[str] = []
        self._rows: list[Row] = []

    def add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self._rows.append(row)
            self.count += 1
            if len(self._rows) == ROWS:
                self._close()

    def end(self) -> list[str]:
        self._close()
        return self._made

    def _close(self) -> None:
        text = repr(self._rows).encode("utf-8", "backslashreplace")
        self._made.append(hashlib.blake2b(text, digest_size=12).hexdigest())
        self._rows = []


def shapes(random: Random) -> Iterator[dict[str, Any]]:
    """Keys, values and headers of all kinds, most of them small."""
    pool = random.randbytes(1 << 16)

    def field(sizes: tuple[int | None, ...]) -> bytes | None:
        size = random.choice(sizes)
        if size is None:
            return None
        start = random.randrange(len(pool) - size)
        return pool[start : start + size]

    while True:
        headers = [
            (random.choice(("", "trace", "\u00fc\u4e2d")), field((None, 0, 9)))
            for _ in range(random.choice((0, 0, 0, 1, 3)))
        ]
        yield {
            "key": field((None, 0, 4, 12, 63, 64)),
            "value": field((None, 0, 1, 30, 100, 100, 127, 128, 300, 3000)),
            "headers": headers,
            "timestamp": 1_700_000_000_000 + random.randrange(10**9),
            "partition": random.randrange(PARTITIONS),
        }


def feed(address: str) -> None:
    random = Random(8)
    made = shapes(random)
    for name, config in TOPICS.items():
        create(address, name, PARTITIONS, config)
    for codec in CODECS:
        producer = Producer(
            {
                "bootstrap.servers": address,
                "compression.codec": codec,
                "linger.ms": 20,
                "batch.num.messages": random.choice((50, 1000)),
                "queue.buffering.max.messages": COUNT,
            }
        )
        for number in range(COUNT // len(CODECS) * 4 // 5):
            producer.produce(list(TOPICS)[number % 4 == 0], **next(made))
            producer.poll(0)
        assert producer.flush(PATIENCE_S * 5) == 0
    feed_transactions(address, COUNT // 5, made)


def feed_transactions(address: str, count: int, made: Iterator[dict[str, Any]]) -> None:
    """Of every three transactions one is aborted."""
    producer = Producer({"bootstrap.servers": address, "transactional.id": "mixed"})
    producer.init_transactions(PATIENCE_S)
    for number in range(30):
        producer.begin_transaction()
        for _ in range(count // 30):
            producer.produce("mixed", **next(made))
            producer.poll(0)
        assert producer.flush(PATIENCE_S) == 0
        if number % 3 == 1:
            producer.abort_transaction(PATIENCE_S)
        else:
            producer.commit_transaction(PATIENCE_S)


def read_by_client(address: str, place: Place, isolation: str) -> Digests:
    """What librdkafka reads of a partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "reader",
            "enable.auto.commit": False,
            "isolation.level": isolation,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(*place, OFFSET_BEGINNING)])
    digests, is_at_end = Digests(), False
    while not is_at_end:
        messages = consumer.consume(1000, timeout=0.3)
        # The only error is the end of the partition.
        digests.add(client_row(each) for each in messages if each.error() is None)
        is_at_end = any(each.error() is not None for each in messages)
    consumer.close()
    return digests


def client_row(message: Any) -> Row:
    kind, timestamp = message.timestamp()
    headers = tuple((name, value) for name, value in message.headers() or ())
    return (
        message.offset(),
        timestamp,
        int(kind == TIMESTAMP_LOG_APPEND_TIME),
        message.key(),
        message.value(),
        headers,
    )


def read_by_wire(port: int, place: Place, committed: bool) -> Digests:
    digests = Digests()
    with connected(port) as cluster:
        fetcher = Fetcher(cluster, committed=committed)
        first = fetcher.fetch(place, 0)
        end = first.last_stable_offset if committed else first.high_watermark
        offset = 0
        for fetched in fetcher.read(place, 0, end, FetchLimits(1 << 20)):
            decoder = RecordsToArrow(
                place, ALL, aborted=fetched.aborted if committed else None
            )
            digests.add(rows_of(decoder.decode(fetched.records, offset, end)))
            assert decoder.next_offset == fetched.next_offset(offset)
            offset = decoder.next_offset
    return digests


def read_from_disk(root: Path, place: Place, committed: bool) -> Digests:
    directory = DataDirectory(root)
    directory.check_stopped()
    offsets = directory.offsets(place)
    end = offsets.high_watermark
    if committed:
        end = directory.last_stable_offset(place)
    digests = Digests()
    wanted = [OffsetRange(*place, offsets.log_start_offset, end)]
    pieces = plan_segments(root, wanted, committed=committed, split_bytes=SPLIT_BYTES)
    assert len(pieces) > 1
    for piece in pieces:
        digests.add(rows_of(read_segments(piece, ALL)))
    return digests


def test_wire_and_segments_are_what_a_kafka_client_reads(tmp_path: Path) -> None:
    places = [Place(name, number) for name in TOPICS for number in range(PARTITIONS)]
    wanted: dict[tuple[Place, bool], list[str]] = {}
    counts = {False: 0, True: 0}
    with running_broker(tmp_path / "data", *OPTIONS) as broker:
        feed(broker.address)
        for place in places:
            for committed in (False, True):
                level = "read_committed" if committed else "read_uncommitted"
                read = read_by_client(broker.address, place, level)
                counts[committed] += read.count
                wanted[place, committed] = read.end()
                wire = read_by_wire(broker.port, place, committed)
                assert wire.end() == wanted[place, committed], (place, committed)
        broker.terminate()
    assert counts[False] > COUNT * 0.99
    assert COUNT * 0.9 < counts[True] < COUNT * 0.95
    for (place, committed), digests in wanted.items():
        disk = read_from_disk(tmp_path / "data", place, committed)
        assert disk.end() == digests, (place, committed)

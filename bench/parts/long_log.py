"""A log of many GB on a disk of few: what is not said of a record is a hole.

Segments have the bytes of batches of 256 KB, whose value is zeros, and an index entry
for each batch, as those that a broker writes. Each is a second later than the last.
"""

import time
from itertools import chain
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

import bare_client
from targets import Broker

from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.checkpoints import (
    HIGH_WATERMARKS_NAME,
    RECOVERY_POINTS_NAME,
)
from odradek.storage.formats.checkpoint import format_offsets

SEGMENT_BATCHES = 4_000
VALUE = bytes(1 << 18)
SAID_BYTES = 128  # of a batch: all behind them is zeros
LATER_MS = 1_000

_BASE_OFFSET: Final = Struct(">q")
_INDEX_ENTRY: Final = Struct(">ii")
_TIME_ENTRY: Final = Struct(">qi")


class LongLog(NamedTuple):
    """Offsets below ``end_offset``, of ``oldest_ms`` and every `LATER_MS` behind it."""

    end_offset: int
    oldest_ms: int


def make_long_log(broker: Broker, topic: str, segments: int) -> LongLog:
    """A topic with so many full segments, and one begun; the broker has stopped."""
    with bare_client.connect(broker.port) as connection:
        bare_client.create_topic(connection, topic, 1)
        bare_client.first_ack(connection, topic, 0)
    broker.stop()
    directory = broker.data_dir / f"{topic}-0"
    for path in chain(directory.glob("*.log"), directory.glob("*index")):
        path.unlink()
    oldest_ms = time.time_ns() // 1_000_000 - LATER_MS * segments
    for number in range(segments):
        base_offset = number * SEGMENT_BATCHES
        time_ms = oldest_ms + number * LATER_MS
        _write_segment(directory, base_offset, SEGMENT_BATCHES, time_ms)
    full = segments * SEGMENT_BATCHES
    _write_segment(directory, full, 1, oldest_ms + segments * LATER_MS)
    end_offset = full + 1
    (snapshot,) = directory.glob("*.snapshot")
    snapshot.rename(directory / f"{end_offset:020}.snapshot")
    text = format_offsets({TopicPartition(topic, 0): end_offset})
    for name in RECOVERY_POINTS_NAME, HIGH_WATERMARKS_NAME:
        (broker.data_dir / name).write_text(text)
    return LongLog(end_offset, oldest_ms)


def _write_segment(
    directory: Path, base_offset: int, batches: int, time_ms: int
) -> None:
    batch = bytes(build_batch([NewRecord(None, VALUE, time_ms)]))
    assert not any(batch[SAID_BYTES:])
    stem = directory / f"{base_offset:020}"
    with stem.with_suffix(".log").open("wb") as file:
        for number in range(batches):
            file.seek(number * len(batch))
            file.write(_BASE_OFFSET.pack(base_offset + number))
            file.write(batch[_BASE_OFFSET.size : SAID_BYTES])
        file.truncate(batches * len(batch))
    entries = [_INDEX_ENTRY.pack(each, each * len(batch)) for each in range(1, batches)]
    stem.with_suffix(".index").write_bytes(b"".join(entries))
    stem.with_suffix(".timeindex").write_bytes(_TIME_ENTRY.pack(time_ms, 0))

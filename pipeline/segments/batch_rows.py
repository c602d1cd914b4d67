"""``mode=batches``: one row for each record batch, and one for each damaged range.

A damaged range has a ``problem``, its bytes, and as base offset the first offset that
may be lost in it; what only a header says is null. ``segment`` and ``position`` are
null where a broker answered: it does not say where a batch lies.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from odradek.pipeline.records.damage import Damage, OnCorrupt, meet
from odradek.pipeline.records.record_arrays import timestamp_array
from odradek.pipeline.records.sound_batches import ANSWER, SoundWalk
from odradek.protocol.record_batch import (
    CODEC_NAMES,
    COMPRESSION_MASK,
    CONTROL,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    TRANSACTIONAL,
)

from .reader import read_pieces
from .walk import walk_segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from odradek.pipeline.records.sound_batches import SoundBatches
    from odradek.protocol.topic_partition import TopicPartition

    from .planning import SegmentRange

_TIME = pa.timestamp("us", tz="UTC")
# In this order; the types as Spark's DDL writes them, and as Arrow does.
_COLUMNS: dict[str, tuple[str, Any]] = {
    "topic": ("string", pa.string()),
    "partition": ("int", pa.int32()),
    "segment": ("bigint", pa.int64()),
    "position": ("bigint", pa.int64()),
    "size": ("bigint", pa.int64()),
    "baseOffset": ("bigint", pa.int64()),
    "lastOffset": ("bigint", pa.int64()),
    "records": ("int", pa.int32()),
    "codec": ("string", pa.string()),
    "leaderEpoch": ("int", pa.int32()),
    "timestampType": ("int", pa.int32()),
    "maxTimestamp": ("timestamp", _TIME),
    "isTransactional": ("boolean", pa.bool_()),
    "isControl": ("boolean", pa.bool_()),
    "producerId": ("bigint", pa.int64()),
    "producerEpoch": ("int", pa.int32()),
    "baseSequence": ("int", pa.int32()),
    "problem": ("string", pa.string()),
}
BATCH_TYPES = {name: types[0] for name, types in _COLUMNS.items()}
BATCH_DDL = ", ".join(f"{name} {kind}" for name, kind in BATCH_TYPES.items())
_CODECS = pa.array([*CODEC_NAMES, "unknown"])


class BatchRows:
    """Makes the rows of one partition; ``segment`` is the base offset of the file."""

    def __init__(
        self, place: TopicPartition, names: tuple[str, ...], segment: int | None = None
    ) -> None:
        self._place = place
        self._segment = segment
        self._schema = pa.schema([(name, _COLUMNS[name][1]) for name in names])
        self._make = [_MADE[name] for name in names]

    def of(self, found: SoundBatches | Damage) -> pa.RecordBatch:
        """A row for each batch, or the one of a damaged range."""
        if isinstance(found, Damage):
            return pa.RecordBatch.from_pylist([self._damaged(found)], self._schema)
        columns = []
        for make, field in zip(self._make, self._schema, strict=True):
            column = make(found, self._place, self._segment)
            if not isinstance(column, pa.Array):
                column = pa.repeat(pa.scalar(column, field.type), found.length)
            columns.append(column.cast(field.type))
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _damaged(self, damage: Damage) -> dict[str, Any]:
        row = {
            "topic": self._place.topic,
            "partition": self._place.partition,
            "segment": self._segment,
            "position": None if self._segment is None else damage.position,
            "size": damage.end - damage.position,
            "baseOffset": damage.next_offset,
            "problem": damage.reason,
        }
        return {name: row.get(name) for name in self._schema.names}


class BatchesToArrow:
    """Turns the answers of a broker into rows, as `RecordsToArrow` does for records."""

    def __init__(
        self,
        place: TopicPartition,
        names: tuple[str, ...],
        *,
        on_corrupt: OnCorrupt = OnCorrupt.REPORT,
    ) -> None:
        self.next_offset = 0
        self._walk = SoundWalk(place, ANSWER)
        self._rows = BatchRows(place, names)
        self._on_corrupt = on_corrupt

    def decode(
        self, data: memoryview, start: int, end: int
    ) -> Iterator[pa.RecordBatch]:
        """The whole batches in ``data`` that have offsets in [start, end).

        Raises:
            CorruptData: one is damaged, and ``on_corrupt`` is FAIL.
        """
        self.next_offset = start
        for found in self._walk.piece(data):
            if isinstance(found, Damage) and self._on_corrupt is not OnCorrupt.REPORT:
                meet(found, self._on_corrupt)
            else:
                yield from _within(found, start, end, self._rows)
            self.next_offset = max(start, self._walk.next_offset)
            if self.next_offset >= end:
                return
            if isinstance(found, Damage):
                self.next_offset = max(self.next_offset, found.offset_behind)


def read_batches(
    piece: SegmentRange,
    names: tuple[str, ...],
    *,
    on_corrupt: OnCorrupt = OnCorrupt.REPORT,
    fails_on_data_loss: bool = True,
) -> Iterator[pa.RecordBatch]:
    """The batches of a piece of a segment; damaged ranges are rows, too.

    Raises:
        DataLoss: they are not there any more, and that is to fail.
        CorruptData: one is damaged, and ``on_corrupt`` is FAIL.
    """

    def rows_of(part: SegmentRange) -> Iterator[pa.RecordBatch]:
        rows = BatchRows(part.place, names, int(Path(part.path).name[:20]))
        for found in walk_segment(part):
            if isinstance(found, Damage) and on_corrupt is not OnCorrupt.REPORT:
                meet(found, on_corrupt)
                continue
            yield from _within(found, part.start, part.end, rows)

    yield from read_pieces(piece, rows_of, fails_on_data_loss)


def _within(
    found: SoundBatches | Damage, start: int, end: int, rows: BatchRows
) -> Iterator[pa.RecordBatch]:
    if isinstance(found, Damage):
        if found.next_offset < end:
            yield rows.of(found)
        return
    wanted = (found.base_offsets < end) & (found.next_offsets > start)
    if wanted.any():
        yield rows.of(found if wanted.all() else found.part(wanted))


def _number(name: str) -> Callable[..., Any]:
    return lambda found, place, segment: pa.array(found.field(name))


def _flag(bit: int) -> Callable[..., Any]:
    return lambda found, place, segment: pa.array((found.attributes & bit) != 0)


def _codecs(found: SoundBatches) -> Any:
    codecs = np.minimum(found.attributes & COMPRESSION_MASK, len(CODEC_NAMES))
    return _CODECS.take(pa.array(codecs))


def _positions(found: SoundBatches, segment: int | None) -> Any:
    return None if segment is None else pa.array(found.positions + found.start)


_MADE: dict[str, Callable[..., Any]] = {
    "topic": lambda found, place, segment: place.topic,
    "partition": lambda found, place, segment: place.partition,
    "segment": lambda found, place, segment: segment,
    "position": lambda found, place, segment: _positions(found, segment),
    "size": lambda found, place, segment: pa.array(
        found.field("batch_length") + LOG_OVERHEAD
    ),
    "baseOffset": lambda found, place, segment: pa.array(found.base_offsets),
    "lastOffset": lambda found, place, segment: pa.array(found.next_offsets - 1),
    "records": _number("records_count"),
    "codec": lambda found, place, segment: _codecs(found),
    "leaderEpoch": _number("partition_leader_epoch"),
    "timestampType": lambda found, place, segment: pa.array(
        (found.attributes & LOG_APPEND_TIME) // LOG_APPEND_TIME
    ),
    "maxTimestamp": lambda found, place, segment: timestamp_array(
        found.field("max_timestamp")
    ),
    "isTransactional": _flag(TRANSACTIONAL),
    "isControl": _flag(CONTROL),
    "producerId": _number("producer_id"),
    "producerEpoch": _number("producer_epoch"),
    "baseSequence": _number("base_sequence"),
    "problem": lambda found, place, segment: None,
}

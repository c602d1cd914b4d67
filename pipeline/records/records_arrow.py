"""Record batches become Arrow: the rows that Spark sees of a partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from odradek.protocol.errors import KafkaError
from odradek.protocol.plain.records import RECORD_SIZE_MIN
from odradek.protocol.record_batch import (
    COMPRESSION_MASK,
    CONTROL,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
)
from odradek.protocol.record_columns import RECORD_COLUMNS, walk_records
from odradek.protocol.records import index_rows, uncompressed

from .committed_filter import CommittedFilter
from .damage import Damage, OnCorrupt, meet
from .record_arrays import RecordArrays, RecordRows
from .sound_batches import ANSWER, SoundBatches, SoundWalk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow

    from odradek.protocol.topic_partition import TopicPartition

    from .columns import RecordColumns
    from .committed_filter import Aborted

# Decompressed bytes that become one Arrow batch.
_OPENED_SIZE = 1 << 20


class RecordsToArrow:
    """Turns the batches of one partition, handed over in their order, into rows.

    Control batches give no rows. With ``aborted`` the reader is committed: what these
    transactions wrote is left out as well.
    """

    def __init__(
        self,
        place: TopicPartition,
        columns: RecordColumns,
        *,
        aborted: Sequence[Aborted] | None = None,
        on_corrupt: OnCorrupt = OnCorrupt.FAIL,
        source: str = ANSWER,
    ) -> None:
        self.place = place
        self.next_offset = 0
        self._walk = SoundWalk(place, source)
        self._arrays = RecordArrays(place, columns)
        self._filter = CommittedFilter(aborted or ())
        self._on_corrupt = on_corrupt
        self._source = source

    def decode(
        self, data: memoryview, start: int, end: int
    ) -> Iterator[pyarrow.RecordBatch]:
        """The records of the whole batches in ``data``, those in [start, end) only.

        A last batch that is cut is ignored, as is one whose length is damaged and
        looks cut; ``next_offset`` says where to go on once the iterator is at its end,
        and is above ``start`` if there was anything.

        Raises:
            CorruptData: a batch is damaged, and ``on_corrupt`` is FAIL.
        """
        self.next_offset = start
        for found in self._walk.piece(data):
            yield from self.rows(found, start, end)
            self.next_offset = max(start, self._walk.next_offset)
            if self.next_offset >= end:
                return
            if isinstance(found, Damage):
                # The answer to the next question must not be the same again.
                self.next_offset = max(self.next_offset, found.offset_behind)

    def rows(
        self, found: SoundBatches | Damage, start: int, end: int
    ) -> Iterator[pyarrow.RecordBatch]:
        """The records in [start, end) of batches that somebody walked over.

        Raises:
            CorruptData: a batch is damaged, and ``on_corrupt`` is FAIL.
        """
        if isinstance(found, Damage):
            if found.next_offset < end:
                meet(found, self._on_corrupt)
            return
        for rows in self._opened(self._wanted(found, start, end)):
            kept = rows
            if found.base_offsets[0] < start or found.next_offsets[-1] > end:
                kept = rows.within(start, end)
            if kept.count:
                yield self._arrays.batch(kept)

    def _wanted(self, found: SoundBatches, start: int, end: int) -> SoundBatches:
        """The batches that have records for this reader."""
        flags = found.flags
        is_within = found.base_offsets[0] >= start and found.next_offsets[-1] <= end
        if is_within and not flags & (CONTROL | TRANSACTIONAL):
            return found
        wanted = (found.base_offsets < end) & (found.next_offsets > start)
        wanted &= (found.attributes & CONTROL) == 0
        if flags & TRANSACTIONAL:
            wanted &= self._filter.passes(found)
        return found.part(wanted)

    def _opened(self, batches: SoundBatches) -> Iterator[RecordRows]:
        """Where the fields of all records are; malformed batches are met."""
        if not batches.flags & COMPRESSION_MASK:
            yield from self._walked(batches, batches.data, batches.positions)
            return
        places, positions, opened = [], [], bytearray()
        for place in range(batches.length):
            try:
                batch = uncompressed(batches.batch(place), batches.header(place))
            except KafkaError as error:
                self._malformed(batches, place, str(error))
                continue
            places.append(place)
            positions.append(len(opened))
            opened += batch
            if len(opened) >= _OPENED_SIZE:
                part = batches.part(np.array(places))
                yield from self._walked(part, memoryview(opened), np.array(positions))
                places, positions, opened = [], [], bytearray()
        if places:
            part = batches.part(np.array(places))
            yield from self._walked(part, memoryview(opened), np.array(positions))

    def _walked(
        self, batches: SoundBatches, data: memoryview, positions: np.ndarray
    ) -> Iterator[RecordRows]:
        """The records of ``batches``, which lie uncompressed in ``data``."""
        counts = batches.field("records_count")
        room = int(np.clip(counts, 0, len(data) // RECORD_SIZE_MIN).sum())
        room = max(min(room, len(data) // RECORD_SIZE_MIN), 1)
        cells = np.empty((RECORD_COLUMNS, room), np.int64)
        first = 0
        while first < len(positions):
            done, count = walk_records(data, positions[first:].data, cells.data)
            part = slice(first, first + done)
            if count:
                times = self._times(batches.attributes[part], counts[part])
                yield RecordRows(data, cells[:, :count], times)
                cells = np.empty_like(cells)
            first += done
            if first < len(positions):
                self._malformed(batches, first, _complaint(batches, first))
                first += 1

    def _times(self, attributes: np.ndarray, counts: np.ndarray) -> np.ndarray | bool:
        """Whether records have the time of the broker: each, or all of them."""
        is_append_time = (attributes & LOG_APPEND_TIME) != 0
        if (is_append_time == is_append_time[0]).all():
            return bool(is_append_time[0])
        return np.repeat(is_append_time, counts)

    def _malformed(self, batches: SoundBatches, place: int, reason: str) -> None:
        header = batches.header(place)
        start = batches.start + int(batches.positions[place])
        where = start, start + header.size
        offsets = header.base_offset, header.next_offset
        damage = Damage(self.place, *where, *offsets, reason, self._source)
        meet(damage, self._on_corrupt)


def _complaint(batches: SoundBatches, place: int) -> str:
    try:
        index_rows(batches.batch(place), batches.header(place))
    except KafkaError as error:
        return str(error)
    raise AssertionError("the walks over records disagree")

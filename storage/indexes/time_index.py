"""The time index of a segment: where to begin looking for a timestamp.

An entry is a timestamp with the last offset of the batch that holds it, and no record
of the segment up to that offset has a larger one.

Invariants: timestamps and offsets both increase. The last slot is kept for the entry
that is forced when the segment is sealed, so that the last entry of a sealed segment
is its largest timestamp.
"""

from bisect import bisect_right
from itertools import islice
from operator import lt
from typing import NamedTuple

from odradek.storage.formats.index_entry import (
    RELATIVE_OFFSET_MAX,
    TIME_INDEX_ENTRY,
    TIME_INDEX_ENTRY_SIZE,
)

from .mapped_index import CorruptIndex, MappedIndex

NO_TIMESTAMP = -1


class TimestampedBatch(NamedTuple):
    """A largest timestamp so far, and the last offset of the batch that holds it."""

    timestamp: int
    offset: int


class TimeIndex(MappedIndex):
    """Offsets by timestamp."""

    entry_size = TIME_INDEX_ENTRY_SIZE
    _last: TimestampedBatch  # of a growing index

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Add an entry, unless the last one is as late already."""
        if timestamp <= self._last.timestamp:
            return
        relative_offset = offset - self.base_offset
        assert 0 <= relative_offset <= RELATIVE_OFFSET_MAX, (offset, self.base_offset)
        assert not self.count or offset > self._last.offset, (offset, self._last)
        self._append(TIME_INDEX_ENTRY.pack(timestamp, relative_offset))
        self._last = TimestampedBatch(timestamp, offset)

    @property
    def last(self) -> TimestampedBatch:
        """The last entry, which is the latest; (-1, base offset) when there is none."""
        self.entries()
        return self._at(self.count - 1)

    def entry(self, number: int) -> TimestampedBatch:
        """An entry by its number; (-1, base offset) for number -1."""
        return self._at(number)

    def lookup(self, timestamp: int) -> TimestampedBatch:
        """The last entry not later than ``timestamp``, else (-1, base offset)."""
        return self.around(timestamp)[0]

    def around(
        self, timestamp: int
    ) -> tuple[TimestampedBatch, TimestampedBatch | None]:
        """The last entry not later than ``timestamp``, and the first that is later."""
        entries = self.entries()
        unpack = TIME_INDEX_ENTRY.unpack_from
        below = bisect_right(
            range(self.count),
            timestamp,
            key=lambda number: unpack(entries, number * TIME_INDEX_ENTRY_SIZE)[0],
        )
        higher = self._at(below) if below < self.count else None
        return self._at(below - 1), higher

    def truncate_to(self, offset: int) -> None:
        """Keep the entries of batches that end below ``offset``."""
        self._keep(self._count_below(offset))

    def has_offset(self, offset: int) -> bool:
        """Whether there is an entry of a batch that ends at ``offset``."""
        below = self._count_below(offset)
        return below < self.count and self._at(below).offset == offset

    def _count_below(self, offset: int) -> int:
        entries = self.entries()
        unpack = TIME_INDEX_ENTRY.unpack_from
        return bisect_right(
            range(self.count),
            offset - self.base_offset - 1,
            key=lambda number: unpack(entries, number * TIME_INDEX_ENTRY_SIZE)[1],
        )

    def _at(self, number: int) -> TimestampedBatch:
        if number < 0:
            return TimestampedBatch(NO_TIMESTAMP, self.base_offset)
        start = number * TIME_INDEX_ENTRY_SIZE
        fields = TIME_INDEX_ENTRY.unpack_from(self.entries(), start)
        return TimestampedBatch(fields[0], self.base_offset + fields[1])

    def _note_last(self) -> None:
        self._last = self.last

    def _check(self, entries: memoryview) -> None:
        # 15 ms for the index of a full 1 GiB segment, once after start.
        if not entries:
            return
        timestamps, offsets = zip(*TIME_INDEX_ENTRY.iter_unpack(entries), strict=True)
        for name, column in (("timestamps", timestamps), ("offsets", offsets)):
            if not all(map(lt, column, islice(column, 1, None))):
                raise CorruptIndex(f"{self.path}: {name} do not increase")
        if timestamps[0] < 0 or offsets[0] < 0:
            raise CorruptIndex(f"{self.path}: the first entry is negative")

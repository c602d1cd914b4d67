"""The offset index of a segment: where to begin looking for an offset.

An entry is the *last* offset of a batch with the position where that batch *starts*.
So the entry at or below an offset is a batch from which a walk forward finds it.

Invariants: offsets and positions both increase; every position is that of a batch.
"""

import sys
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from itertools import islice
from operator import lt
from pathlib import Path
from typing import NamedTuple, Protocol

from odradek.storage.files.files import Files
from odradek.storage.formats.index_entry import (
    INDEX_ENTRY,
    INDEX_ENTRY_SIZE,
    RELATIVE_OFFSET_MAX,
)

from .mapped_index import CorruptIndex, MappedIndex


class OffsetPosition(NamedTuple):
    """The last offset of a batch, and where the batch starts."""

    offset: int
    position: int


class IndexedOffsets(Protocol):
    """Which batches an index has, by their positions."""

    def between(self, start: int, end: int) -> Sequence[OffsetPosition]:
        """The entries of batches from ``start`` on that start before ``end``."""


class OffsetIndex(MappedIndex):
    """Positions by offset; ``log_size`` bounds the positions of an existing file."""

    entry_size = INDEX_ENTRY_SIZE

    def __init__(
        self, files: Files, path: Path, base_offset: int, log_size: int
    ) -> None:
        super().__init__(files, path, base_offset)
        self._log_size = log_size
        self._last_offset = -1  # of a growing index

    def append(self, offset: int, position: int) -> None:
        """Add the batch at ``position`` that ends at ``offset``."""
        relative_offset = offset - self.base_offset
        assert 0 <= relative_offset <= RELATIVE_OFFSET_MAX, (offset, self.base_offset)
        assert offset > self._last_offset, (offset, self._last_offset)
        self._append(INDEX_ENTRY.pack(relative_offset, position))
        self._last_offset = offset

    @property
    def last(self) -> OffsetPosition:
        """The last entry; the start of the segment when there is none."""
        self.entries()
        return self._at(self.count - 1)

    def lookup(self, offset: int) -> OffsetPosition:
        """The last entry at or below ``offset``, else the start of the segment."""
        return self._at(self._count_below(offset + 1) - 1)

    def between(self, start: int, end: int) -> Sequence[OffsetPosition]:
        """As of `IndexedOffsets`."""
        numbers = range(self._count_before(start), self._count_before(end))
        return [self._at(number) for number in numbers]

    def truncate_to(self, offset: int) -> None:
        """Keep the entries below ``offset``."""
        self._keep(self._count_below(offset))

    def truncate_to_position(self, position: int) -> None:
        """Keep the entries of batches that start before ``position``."""
        self._keep(self._count_before(position))

    def before_position(self, position: int) -> OffsetPosition:
        """The last entry of a batch that starts before ``position``, else the start."""
        return self._at(self._count_before(position) - 1)

    def _count_before(self, position: int) -> int:
        entries = self.entries()
        unpack = INDEX_ENTRY.unpack_from
        return bisect_left(
            range(self.count),
            position,
            key=lambda number: unpack(entries, number * INDEX_ENTRY_SIZE)[1],
        )

    def _at(self, number: int) -> OffsetPosition:
        if number < 0:
            return OffsetPosition(self.base_offset, 0)
        fields = INDEX_ENTRY.unpack_from(self.entries(), number * INDEX_ENTRY_SIZE)
        return OffsetPosition(self.base_offset + fields[0], fields[1])

    def _note_last(self) -> None:
        self._last_offset = self.last.offset if self.count else -1

    def _count_below(self, offset: int) -> int:
        entries = self.entries()
        unpack = INDEX_ENTRY.unpack_from
        return bisect_left(
            range(self.count),
            offset - self.base_offset,
            key=lambda number: unpack(entries, number * INDEX_ENTRY_SIZE)[0],
        )

    def _check(self, entries: memoryview) -> None:
        # 5 ms for the index of a full 1 GiB segment, once after start.
        numbers = array("i", bytes(entries))
        if sys.byteorder == "little":
            numbers.byteswap()
        for name, column in (("offsets", numbers[::2]), ("positions", numbers[1::2])):
            if not all(map(lt, column, islice(column, 1, None))):
                raise CorruptIndex(f"{self.path}: {name} do not increase")
        if numbers and not (numbers[0] >= 0 and 0 < numbers[1] <= numbers[-1]):
            raise CorruptIndex(f"{self.path}: the first entry is negative")
        if numbers and numbers[-1] >= self._log_size:
            raise CorruptIndex(f"{self.path}: the last entry lies behind the log's end")

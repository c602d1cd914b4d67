"""The walk over the batches of a partition: sound ones in runs, and what is damaged.

A batch is sound when it is whole, of magic 2, behind the one before it, and has its
checksum. Where one is not, the walk goes on at the next that is (`resync`): a damaged
length derails nothing.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from odradek.protocol.batch_columns import COLUMN_COUNT, walk_batches
from odradek.protocol.errors import CorruptMessage
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    CURRENT_MAGIC,
    LOG_OVERHEAD,
    BatchHeader,
    read_header,
)

from .damage import Damage
from .resync import OFFSET_MAX, find_sound_batch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.protocol.topic_partition import TopicPartition

# Large enough that the calls for each do not matter, small enough for a cache.
WINDOW_SIZE = 2 << 20
# What is read when no file is.
ANSWER = "the broker's answer"

_CAPACITY = 1 << 13
# Of the columns of protocol.batch_columns those that are wanted.
_POSITION, _BASE_OFFSET, _NEXT_OFFSET, _ATTRIBUTES = 0, 1, 2, 7

# Of the 61 bytes of a header, position and numpy's type; see protocol.record_batch.
FIELDS = {
    "base_offset": (0, ">i8"),
    "batch_length": (8, ">i4"),
    "partition_leader_epoch": (12, ">i4"),
    "crc": (17, ">u4"),
    "attributes": (21, ">i2"),
    "last_offset_delta": (23, ">i4"),
    "base_timestamp": (27, ">i8"),
    "max_timestamp": (35, ">i8"),
    "producer_id": (43, ">i8"),
    "producer_epoch": (51, ">i2"),
    "base_sequence": (53, ">i4"),
    "records_count": (57, ">i4"),
}


@dataclass(frozen=True, slots=True)
class SoundBatches:
    """Sound batches that lie behind one another in ``data``, with gaps or without.

    ``positions`` are in ``data``, which begins at ``start`` of what is read.
    """

    data: memoryview
    start: int
    positions: np.ndarray
    base_offsets: np.ndarray
    next_offsets: np.ndarray
    attributes: np.ndarray

    @property
    def length(self) -> int:
        """How many there are."""
        return len(self.positions)

    @property
    def end(self) -> int:
        """Where the last one ends in what is read."""
        last = self.length - 1
        return self.start + int(self.positions[last]) + self.header(last).size

    @property
    def flags(self) -> int:
        """The attributes of all of them together."""
        return int(np.bitwise_or.reduce(self.attributes)) if self.length else 0

    def field(self, name: str) -> np.ndarray:
        """A field of every header, as int64."""
        at, kind = FIELDS[name]
        size = np.dtype(kind).itemsize
        # A number at every byte; only those of the batches are looked at.
        numbers: np.ndarray = np.ndarray(
            (len(self.data) - at - size + 1,), kind, self.data, at, (1,)
        )
        found: np.ndarray = numbers[self.positions].astype(np.int64)
        return found

    def part(self, places: np.ndarray | slice) -> SoundBatches:
        """Some of its batches."""
        return SoundBatches(
            self.data,
            self.start,
            self.positions[places],
            self.base_offsets[places],
            self.next_offsets[places],
            self.attributes[places],
        )

    def header(self, place: int) -> BatchHeader:
        """The header of one batch."""
        return read_header(self.data, int(self.positions[place]))

    def batch(self, place: int) -> memoryview:
        """The bytes of one batch."""
        position = int(self.positions[place])
        return self.data[position : position + self.header(place).size]


class SoundWalk:
    """Walks over one partition's batches, which come in pieces and in their order.

    After a piece, ``consumed`` says where in it the next one has to begin, and
    ``needed`` how long that must be at least. ``next_offset`` is the offset behind the
    last sound batch.
    """

    def __init__(
        self,
        place: TopicPartition,
        source: str,
        next_offset: int = 0,
        offset_max: int = OFFSET_MAX,
    ) -> None:
        """``offset_max`` is the largest that a batch of its may have."""
        self.next_offset = next_offset
        self.consumed = 0
        self.needed = BATCH_OVERHEAD
        self._offset_max = offset_max
        self._place = place
        self._source = source
        self._cells = np.empty((COLUMN_COUNT, _CAPACITY), np.int64)

    def piece(
        self, data: memoryview, start: int = 0, total: int | None = None
    ) -> Iterator[SoundBatches | Damage]:
        """Yield what is in ``data``, which begins at ``start`` of what is read.

        ``total`` is how many bytes there are from there on, of which ``data`` are the
        first; without it ``data`` are an answer of a broker, of which the last batch
        may be cut.
        """
        self.consumed, end = 0, len(data)
        while self.consumed < end:
            run = self._run(data, start)
            if run is not None:
                yield run
                continue
            size = self._size(data)
            left = end - self.consumed
            if total is None:
                if self.consumed > 0 and (size is None or size > left):
                    return  # cut
            elif end < total:
                rest = total - self.consumed
                self.needed = size if size and left < size <= rest else rest
                return
            yield self._damage(data, start)

    def _run(self, data: memoryview, start: int) -> SoundBatches | None:
        """The sound batches from where the walk is, as far as a window goes."""
        position = self.consumed
        for window in (data[position : position + WINDOW_SIZE], data[position:]):
            count, size = walk_batches(
                window, self._cells.data, self.next_offset, self._offset_max, True
            )
            if count:
                cells = self._cells[:, :count].copy()
                self.next_offset = int(cells[_NEXT_OFFSET, -1])
                self.consumed = position + size
                return SoundBatches(
                    data,
                    start,
                    cells[_POSITION] + position,
                    cells[_BASE_OFFSET],
                    cells[_NEXT_OFFSET],
                    cells[_ATTRIBUTES],
                )
            if len(window) < WINDOW_SIZE:
                return None
        return None

    def _size(self, data: memoryview) -> int | None:
        """The size that the next header says, 0 if none can; None without one."""
        try:
            header = read_header(data, self.consumed)
        except CorruptMessage:
            return None
        if header.magic != CURRENT_MAGIC or header.size < BATCH_OVERHEAD:
            return 0
        return header.size

    def _damage(self, data: memoryview, start: int) -> Damage:
        position = self.consumed
        behind, reason = self._behind(data), self._reason(data)
        found = find_sound_batch(data, position + 1, self.next_offset, self._offset_max)
        self.consumed = len(data) if found is None else found
        return Damage(
            self._place,
            start + position,
            start + self.consumed,
            self.next_offset,
            behind,
            reason,
            self._source,
        )

    def _behind(self, data: memoryview) -> int:
        """The offset behind a batch whose header may be right; else the next one."""
        with suppress(CorruptMessage):
            header = read_header(data, self.consumed)
            delta = header.last_offset_delta
            is_likely = header.magic == CURRENT_MAGIC
            is_likely &= delta >= 0 and delta + 1 == header.records_count
            if is_likely and 0 < header.next_offset - self.next_offset <= delta + 1:
                return header.next_offset
        return self.next_offset + 1

    def _reason(self, data: memoryview) -> str:
        left = len(data) - self.consumed
        if left < BATCH_OVERHEAD:
            return f"{left} bytes are not a batch"
        header = read_header(data, self.consumed)
        if header.magic != CURRENT_MAGIC:
            return f"magic {header.magic} is not that of a batch"
        if not BATCH_OVERHEAD <= header.size <= left:
            return (
                f"a length of {header.batch_length + LOG_OVERHEAD} bytes, {left} left"
            )
        if header.last_offset_delta < 0 or header.last_offset > self._offset_max:
            return f"offsets {header.base_offset} to {header.last_offset}"
        if header.base_offset < self.next_offset:
            return f"offset {header.base_offset} after {self.next_offset - 1}"
        return "the checksum is wrong"

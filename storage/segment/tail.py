"""The newest batches of a segment, as the very buffers that were appended.

Who reads at the end of a log gets these buffers: no system call, no index, and all
readers of one place share one buffer.

Invariants: the batches of a tail lie one behind another, each was appended alone, with
the offset behind the one before; and all tails that share a memory keep no more than
its bytes alive. The page that was begun first, of whichever log, goes first.
"""

from bisect import bisect_left, bisect_right
from typing import Final

from odradek.storage.files.file_system import Buffer
from odradek.storage.files.tail_memory import ENTRY_SIZE, TailMemory
from odradek.storage.values.log_read import SegmentRead

# Smaller ones are copied: they lie in receive buffers, together with what is long gone.
_COPIED_SIZE_MAX: Final = 4 << 10
# More pieces than that are read from the file faster than put together.
_PIECES_MAX: Final = 64
_GONE_MAX: Final = 512

# NamedTuple's own constructor costs three times as much as the tuple.
_new = tuple.__new__


class LogTail:
    """The newest batches of one segment, as far as the shared memory goes.

    Memory is taken, and given up, for a page of batches at a time: in between a batch
    costs three list entries.
    """

    __slots__ = (
        "_base_offsets",
        "_batches",
        "_end_position",
        "_first",
        "_first_page",
        "_joined",
        "_memory",
        "_next_offset",
        "_page_room",
        "_pages",
        "_positions",
    )

    def __init__(self, memory: TailMemory) -> None:
        self._memory = memory
        self._next_offset = 0
        self._end_position = 0
        self._begin()

    def _begin(self) -> None:
        self._base_offsets: list[int] = []
        self._positions: list[int] = []
        self._batches: list[Buffer | None] = []
        self._first = 0  # how many at the head of the lists have gone
        # Of each page, the place of its first batch and its size.
        # (A list: an empty deque is 0.6 KB, and every log has a tail.)
        self._pages: list[tuple[int, int]] = []
        self._first_page = 0  # how many at the head of that have gone
        self._page_room = 0  # in the newest page
        self._joined: SegmentRead | None = None

    def add(
        self, batch: Buffer, position: int, base_offset: int, next_offset: int
    ) -> None:
        """Keep a batch that was appended at ``position``. Nobody may change it now."""
        if position != self._end_position or base_offset != self._next_offset:
            self.clear()
        size = len(batch)
        self._end_position = position + size
        self._next_offset = next_offset
        if size <= _COPIED_SIZE_MAX:
            batch = bytes(batch)
            kept_size = ENTRY_SIZE + size
        else:
            kept_size = _kept_size(batch)
        if self._page_room < kept_size and not self._begin_page(kept_size):
            return
        self._page_room -= kept_size
        self._base_offsets.append(base_offset)
        self._positions.append(position)
        self._batches.append(batch)
        self._joined = None

    def _begin_page(self, kept_size: int) -> bool:
        """Take memory for at least so much; whether there is any."""
        memory = self._memory
        size = max(kept_size, memory.page_size)
        if size > memory.size_max:
            self.clear()
            return False
        memory.size += size
        memory.page_count += 1
        memory.order.append(self)
        self._pages.append((len(self._batches), size))
        memory.make_room()
        self._page_room = size
        return True

    def clear(self) -> None:
        """Keep nothing: the file was cut, or is not to be read any more."""
        for _, size in self._pages[self._first_page :]:
            self._memory.size -= size
        self._memory.page_count -= self.page_count
        self._begin()

    @property
    def page_count(self) -> int:
        """How many pages it has memory for."""
        return len(self._pages) - self._first_page

    def drop_first(self) -> None:
        """Give up the oldest page, if there is one left."""
        pages, number = self._pages, self._first_page
        if number == len(pages):
            return
        first, size = pages[number]
        number += 1
        self._memory.size -= size
        self._memory.page_count -= 1
        if number < len(pages):
            stop = pages[number][0]
        else:
            stop = len(self._batches)
            self._page_room = 0
        self._batches[first:stop] = [None] * (stop - first)
        self._joined = None
        self._first, self._first_page = stop, number
        if stop > _GONE_MAX and 2 * stop > len(self._batches):
            del self._base_offsets[:stop]
            del self._positions[:stop]
            del self._batches[:stop]
            self._pages = [(place - stop, size) for place, size in pages[number:]]
            self._first = self._first_page = 0

    def read(
        self, offset: int, end_position: int, size_max: int, min_one: bool
    ) -> SegmentRead | None:
        """What a read of the segment gives; None when the file must be read."""
        place = bisect_right(self._base_offsets, offset) - 1
        if place < self._first or offset >= self._next_offset:
            return None
        batch, position = self._batches[place], self._positions[place]
        assert batch is not None
        batch_size = len(batch)
        # Not by min and max: two calls of every fetch.
        limit = batch_size if min_one and batch_size > size_max else size_max
        left = end_position - position
        size = left if left < limit else limit
        if size == batch_size:
            return _new(SegmentRead, (position, batch, False))
        if size <= 0 or position + size > self._end_position:
            return None
        if size < batch_size:
            records = memoryview(batch)[:size]
            return _new(SegmentRead, (position, records, limit < batch_size))
        return self._join(place, size)

    def _join(self, place: int, size: int) -> SegmentRead | None:
        """``size`` bytes of several batches; the same buffer until one is added."""
        position, joined = self._positions[place], self._joined
        if joined and joined.position == position and len(joined.records) == size:
            return joined
        stop = bisect_left(self._positions, position + size, place)
        if stop - place > _PIECES_MAX:
            return None
        records = memoryview(b"".join(self._batches[place:stop]))[:size]  # type: ignore[arg-type]
        joined = self._joined = SegmentRead(position, records, False)
        return joined


def _kept_size(batch: Buffer) -> int:
    """What a batch keeps alive: all of the buffer that it is a part of."""
    buffer = batch.obj if type(batch) is memoryview else batch
    return ENTRY_SIZE + len(buffer)  # type: ignore[arg-type]

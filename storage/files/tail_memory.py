"""How much the logs may keep in memory of what was appended to them last."""

from collections import deque
from typing import Final, Protocol

# What a batch costs besides its bytes: objects and list entries.
ENTRY_SIZE: Final = 256
# What is taken of the memory, and given up, at once; less where there is little of it.
_PAGE_SIZE_MAX: Final = 4 << 10
_PAGES_MIN: Final = 64


class Tail(Protocol):
    """What keeps some of it, in pages."""

    @property
    def page_count(self) -> int:
        """How many it has not given up."""
        ...

    def drop_first(self) -> None:
        """Give up the oldest page."""
        ...


class TailMemory:
    """What the tails of all logs may keep alive together, in bytes.

    ``order`` has the tail of each page that was begun, in that order; some of these
    pages are no more: as many as there are pages, and a few, at most. Only the tails
    change it, ``size`` and ``page_count``.
    """

    def __init__(self, size_max: int) -> None:
        self.size = 0
        self.page_count = 0
        self.order: deque[Tail] = deque()
        self.resize(size_max)

    def resize(self, size_max: int) -> None:
        """Allow that much from now on."""
        self.size_max = size_max
        self.count_max = size_max // ENTRY_SIZE
        self.page_size = min(_PAGE_SIZE_MAX, size_max // _PAGES_MIN)
        self.make_room()

    def make_room(self) -> None:
        """Give up the oldest pages, until no more is kept than may be."""
        while self.size > self.size_max or len(self.order) > self.count_max:
            self.order.popleft().drop_first()
        if len(self.order) > 2 * self.page_count + _PAGES_MIN:
            self._forget_the_gone()

    def _forget_the_gone(self) -> None:
        """Or logs that are deleted would stay in memory by their tails."""
        left: dict[int, int] = {}
        kept: deque[Tail] = deque()
        for tail in reversed(self.order):  # the newest are those that it still has
            count = left.get(id(tail), tail.page_count)
            left[id(tail)] = count - 1
            if count > 0:
                kept.appendleft(tail)
        self.order = kept

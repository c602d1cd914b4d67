"""The offsets between the first unfinished one and the last that was handed out.

Invariants: the ranges are in order and do not overlap; what is between two of them was
never handed out, or its record of that was lost. Offsets in one range have one state.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from .record_states import RecordState

if TYPE_CHECKING:
    from collections.abc import Iterator

NOBODY = ""
NO_LOCK = -1


@dataclass(slots=True)
class Range:
    """Offsets in one state. ``after`` is what they are when ``update`` is durable."""

    first: int
    last: int
    state: RecordState
    count: int
    member_id: str = NOBODY
    lock_until_ms: int = NO_LOCK
    update: int | None = None
    after: RecordState | None = None

    @property
    def size(self) -> int:
        """How many offsets."""
        return self.last - self.first + 1

    @property
    def is_free(self) -> bool:
        """Whether somebody may be given it."""
        return self.state is RecordState.AVAILABLE and self.update is None

    @property
    def is_held(self) -> bool:
        """Whether a member has it, and has not said what became of it."""
        return self.state is RecordState.ACQUIRED and self.update is None

    @property
    def state_then(self) -> RecordState:
        """Its state when all is durable that was decided."""
        return self.state if self.after is None else self.after


class InFlight:
    """The ranges of one share partition."""

    def __init__(self) -> None:
        self._ranges: list[Range] = []

    def __len__(self) -> int:
        return len(self._ranges)

    def __iter__(self) -> Iterator[Range]:
        return iter(self._ranges)

    @property
    def last(self) -> int | None:
        """The last offset in any of them."""
        return self._ranges[-1].last if self._ranges else None

    def add(self, new: Range) -> None:
        """Put in offsets that are in none."""
        at = bisect_left(self._ranges, new.first, key=_first)
        assert at == 0 or self._ranges[at - 1].last < new.first, new
        assert at == len(self._ranges) or new.last < self._ranges[at].first, new
        self._ranges.insert(at, new)

    def since(self, offset: int) -> Iterator[Range]:
        """The ranges that end at ``offset`` or behind it."""
        at = bisect_right(self._ranges, offset, key=_first)
        if at and self._ranges[at - 1].last >= offset:
            at -= 1
        return islice(self._ranges, at, None)

    def within(self, first: int, last: int) -> list[Range]:
        """The ranges of these offsets; cut in two where they go beyond."""
        self.cut(first)
        self.cut(last + 1)
        begin = bisect_left(self._ranges, first, key=_first)
        end = bisect_right(self._ranges, last, key=_first)
        return self._ranges[begin:end]

    def cut(self, offset: int) -> None:
        """Let no range go across the place before ``offset``."""
        at = bisect_left(self._ranges, offset, key=_first) - 1
        if at < 0 or self._ranges[at].last < offset:
            return
        left = self._ranges[at]
        self._ranges.insert(at + 1, replace(left, first=offset))
        left.last = offset - 1

    def drop_below(self, offset: int) -> None:
        """Forget everything below ``offset``."""
        self.cut(offset)
        del self._ranges[: bisect_left(self._ranges, offset, key=_first)]

    def join_neighbours(self) -> None:
        """Make one of ranges that differ in nothing but their offsets."""
        joined: list[Range] = []
        for each in self._ranges:
            if joined:
                left = joined[-1]
                if left.last + 1 == each.first and _are_alike(left, each):
                    left.last = each.last
                    continue
            joined.append(each)
        self._ranges = joined


def _first(each: Range) -> int:
    return each.first


def _are_alike(left: Range, right: Range) -> bool:
    return (
        left.state is right.state
        and left.count == right.count
        and left.update == right.update
        and left.lock_until_ms == right.lock_until_ms
        and left.member_id == right.member_id
        and left.after is right.after
    )

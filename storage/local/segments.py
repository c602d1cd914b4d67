"""The segments of a log in the order of their base offsets.

Invariant: each segment knows where the offsets of the next one begin.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator

from odradek.storage.segment.log_segment import LogSegment


class LogSegments:
    """An ordered map from base offset to segment."""

    __slots__ = (
        "_bases",
        "_by_base",
    )

    def __init__(self, segments: Iterable[LogSegment] = ()) -> None:
        self._by_base = {segment.base_offset: segment for segment in segments}
        self._bases = sorted(self._by_base)
        for base_offset in self._bases:
            self._bound(self._by_base[base_offset])

    def __len__(self) -> int:
        return len(self._bases)

    def __iter__(self) -> Iterator[LogSegment]:
        return iter([self._by_base[base] for base in self._bases])

    def add(self, segment: LogSegment) -> None:
        """Put a segment in, in place of one with the same base offset."""
        if segment.base_offset not in self._by_base:
            insort(self._bases, segment.base_offset)
        self._by_base[segment.base_offset] = segment
        self._bound(segment)
        self._bound(self.lower(segment.base_offset))

    def remove(self, base_offset: int) -> LogSegment:
        """Take a segment out."""
        self._bases.remove(base_offset)
        segment = self._by_base.pop(base_offset)
        self._bound(self.lower(base_offset))
        return segment

    def get(self, base_offset: int) -> LogSegment | None:
        """The segment with exactly this base offset."""
        return self._by_base.get(base_offset)

    @property
    def first(self) -> LogSegment:
        """The oldest segment."""
        return self._by_base[self._bases[0]]

    @property
    def last(self) -> LogSegment:
        """The newest segment: the active one."""
        return self._by_base[self._bases[-1]]

    def floor(self, offset: int) -> LogSegment | None:
        """The segment in which ``offset`` would be: the last base not above it."""
        return self._at(bisect_right(self._bases, offset) - 1)

    def lower(self, base_offset: int) -> LogSegment | None:
        """The segment before the one with this base offset."""
        return self._at(bisect_left(self._bases, base_offset) - 1)

    def higher(self, base_offset: int) -> LogSegment | None:
        """The segment after the one with this base offset."""
        return self._at(bisect_right(self._bases, base_offset))

    def values(self, start: int, end: int) -> list[LogSegment]:
        """The segments with offsets in ``start`` up to ``end``.

        From the one that would hold ``start`` (or the first) to the last base below
        ``end``. Nothing when both are equal.
        """
        assert start <= end, (start, end)
        if start == end:
            return []
        first = max(0, bisect_right(self._bases, start) - 1)
        bases = self._bases[first : bisect_left(self._bases, end)]
        return [self._by_base[base] for base in bases]

    def _bound(self, segment: LogSegment | None) -> None:
        """Tell a segment which offsets are the next one's."""
        if segment is not None:
            following = self.higher(segment.base_offset)
            next_base = None if following is None else following.base_offset
            segment.reader.end.put_before(next_base)

    def _at(self, number: int) -> LogSegment | None:
        if not 0 <= number < len(self._bases):
            return None
        return self._by_base[self._bases[number]]

"""How often values were how large: counts by upper bound, as Prometheus has them."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Histogram:
    """Counts values; ``counts[i]`` of them are at most ``bounds[i]``, the last any.

    One thread adds; another may read meanwhile and is then one value behind.
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        """``bounds`` rise."""
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count ``value``."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def halve(self) -> None:
        """Let what was observed until now count half."""
        self.counts = [count // 2 for count in self.counts]
        self.total /= 2

    @property
    def count(self) -> int:
        """How many values there were."""
        return sum(self.counts)

    def cumulative(self) -> Iterator[tuple[float, int]]:
        """Each bound with the number of values up to it."""
        count = 0
        for bound, more in zip(self.bounds, self.counts, strict=False):
            count += more
            yield bound, count

    def quantile(self, part: float) -> float:
        """A bound that ``part`` of the values do not exceed; 0 without any."""
        count = self.count
        if not count:
            return 0.0
        wanted = part * count
        for bound, reached in self.cumulative():
            if reached >= wanted:
                return bound
        return self.bounds[-1]


def exponential(first: float, last: float, steps_per_doubling: int = 1) -> list[float]:
    """Bounds from ``first`` to at least ``last``, each by the same factor larger."""
    factor = 2 ** (1 / steps_per_doubling)
    bounds = [first]
    while bounds[-1] < last:
        bounds.append(round(first * factor ** len(bounds), 9))
    return bounds

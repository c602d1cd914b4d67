"""Batches of states, one after the other written over what was known before."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

from .state import FINISHED_STATES, StateBatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_COUNT_MAX = (1 << 31) - 1


def merge(
    known: Sequence[StateBatch], newer: Sequence[StateBatch], start: int
) -> list[StateBatch]:
    """What is known with ``newer`` over it, in order, from ``start`` on.

    The later one wins. Neighbours that differ in nothing but their offsets are one;
    of what is known they are so already.
    """
    merged = _from(known, start)
    if not is_ordered(newer):  # no log of ours, and none of Apache Kafka, has such
        for batch in newer:
            merged = merge(merged, (batch,), start)
        return merged
    added = _from(newer, start)
    if added:
        begin = bisect_left(merged, added[0].first - 1, key=_last)
        end = bisect_right(merged, added[-1].last + 1, key=_first)
        merged[begin:end] = _laid_over(merged[begin:end], added)
    return merged


def is_ordered(batches: Sequence[StateBatch]) -> bool:
    """Whether each ends before the next one begins."""
    return all(left.last < right.first for left, right in pairwise(batches))


def finished_count(batches: Iterable[StateBatch]) -> int:
    """How many offsets nobody is given any more, as far as a record can say it."""
    count = sum(
        last - first + 1
        for first, last, state, _ in batches
        if state in FINISHED_STATES
    )
    return min(count, _COUNT_MAX)


def _from(batches: Sequence[StateBatch], start: int) -> list[StateBatch]:
    """Those that are in order, from ``start`` on."""
    left = list(batches[bisect_left(batches, start, key=_last) :])
    if left and left[0].first < start:
        left[0] = left[0]._replace(first=start)
    return left


def _laid_over(known: list[StateBatch], newer: list[StateBatch]) -> list[StateBatch]:
    merged: list[StateBatch] = []
    rest = known[::-1]  # the first of it is last
    for batch in newer:
        while rest and rest[-1].first <= batch.last:
            under = rest.pop()
            if under.first < batch.first:
                end = min(under.last, batch.first - 1)
                _add(merged, under._replace(last=end))
            if under.last > batch.last:
                rest.append(under._replace(first=batch.last + 1))
                break
        _add(merged, batch)
    for under in reversed(rest):
        _add(merged, under)
    return merged


def _add(merged: list[StateBatch], batch: StateBatch) -> None:
    """Put ``batch`` behind the others; as one with the last, if that is the same."""
    if merged:
        left = merged[-1]
        if left.last + 1 == batch.first and left[2:] == batch[2:]:
            merged[-1] = left._replace(last=batch.last)
            return
    merged.append(batch)


def _first(batch: StateBatch) -> int:
    return batch.first


def _last(batch: StateBatch) -> int:
    return batch.last

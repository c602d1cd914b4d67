"""Batches of states, one after the other written over what was known before."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from .state import FINISHED_STATES, StateBatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def merge(
    known: Sequence[StateBatch], newer: Iterable[StateBatch], start: int
) -> list[StateBatch]:
    """What is known with ``newer`` over it, in order, from ``start`` on.

    The later one wins. Neighbours that differ in nothing but their offsets are one;
    of what is known they are so already.
    """
    merged = list(known[bisect_left(known, start, key=_last) :])
    if merged and merged[0].first < start:
        merged[0] = merged[0]._replace(first=start)
    for batch in newer:
        _put(merged, batch, start)
    return merged


def finished_count(batches: Iterable[StateBatch]) -> int:
    """How many offsets nobody is given any more."""
    return sum(
        last - first + 1
        for first, last, state, _ in batches
        if state in FINISHED_STATES
    )


def _put(merged: list[StateBatch], batch: StateBatch, start: int) -> None:
    """Write ``batch`` over what is there."""
    first, last, state, count = batch
    if last < start:
        return
    first = max(first, start)
    begin = bisect_left(merged, first, key=_last)  # the first that reaches it
    end = bisect_right(merged, last, key=_first)  # the first behind it
    left, right = first, last
    around: list[StateBatch] = []
    if begin < end and merged[begin].first < first:
        around.append(merged[begin]._replace(last=first - 1))
    elif begin and merged[begin - 1].last == first - 1:
        begin -= 1
        around.append(merged[begin])
    at = len(around)
    if begin < end and merged[end - 1].last > last:
        around.append(merged[end - 1]._replace(first=last + 1))
    elif end < len(merged) and merged[end].first == last + 1:
        around.append(merged[end])
        end += 1
    if len(around) > at and around[at][2:] == (state, count):
        right = around.pop().last
    if at and around[0][2:] == (state, count):
        left, at = around.pop(0).first, 0
    around.insert(at, StateBatch(left, right, state, count))
    merged[begin:end] = around


def _first(batch: StateBatch) -> int:
    return batch.first


def _last(batch: StateBatch) -> int:
    return batch.last

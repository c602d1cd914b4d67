"""Filters that Spark hands down (``pushdown=true``), as bounds of what is read.

Spark applies every filter again: what comes may be too much, and never too little.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.pipeline.records.offset_range import OffsetRange

    from .log_view import LogView


@dataclass(frozen=True)
class Narrowing:
    """What records must be to pass; None is no condition. ``end`` is exclusive."""

    start: int | None = None
    end: int | None = None
    partitions: frozenset[int] | None = None
    topics: frozenset[str] | None = None
    since_ms: int | None = None

    def by(self, filter: Filter) -> Narrowing:
        """Narrowed by one more filter, where that can be said in these terms."""
        if isinstance(filter, In):
            return self._among(filter.attribute, filter.value)
        if isinstance(filter, EqualTo | EqualNullSafe):
            return self._among(filter.attribute, (filter.value,))
        if isinstance(filter, GreaterThanOrEqual):
            return self._at_least(filter.attribute, filter.value, 0)
        if isinstance(filter, GreaterThan):
            return self._at_least(filter.attribute, filter.value, 1)
        if isinstance(filter, LessThan) and filter.attribute == ("offset",):
            return self._before(filter.value)
        if isinstance(filter, LessThanOrEqual) and filter.attribute == ("offset",):
            return self._before(filter.value + 1)
        return self

    def of(self, ranges: Sequence[OffsetRange], view: LogView) -> list[OffsetRange]:
        """What is left of these ranges."""
        kept = [
            each._replace(
                start=max(each.start, self.start or 0),
                end=each.end if self.end is None else min(each.end, self.end),
            )
            for each in ranges
            if (self.partitions is None or each.partition in self.partitions)
            and (self.topics is None or each.topic in self.topics)
        ]
        if self.since_ms is not None:
            # Before the first record that is as late, there is none that is.
            times = dict.fromkeys((each.place for each in kept), self.since_ms)
            since = view.offsets_since(times)
            kept = [
                each._replace(start=max(each.start, offset))
                for each in kept
                if (offset := since[each.place]) is not None
            ]
        return [each for each in kept if each.start < each.end]

    def _among(self, attribute: tuple[str, ...], values: Sequence[Any]) -> Narrowing:
        if attribute == ("partition",):
            return replace(self, partitions=_both(self.partitions, values))
        if attribute == ("topic",):
            return replace(self, topics=_both(self.topics, values))
        numbers = [value for value in values if value is not None]
        if attribute == ("offset",) and numbers:
            return self._at_least(attribute, min(numbers), 0)._before(max(numbers) + 1)
        return self

    def _at_least(self, attribute: tuple[str, ...], value: Any, more: int) -> Narrowing:
        if attribute == ("offset",):
            return replace(self, start=max(self.start or 0, value + more))
        is_moment = isinstance(value, datetime) and value.tzinfo is not None
        if attribute == ("timestamp",) and is_moment and value.timestamp() >= 0:
            since_ms = int(value.timestamp() * 1000)
            return replace(self, since_ms=max(self.since_ms or 0, since_ms))
        return self

    def _before(self, end: int) -> Narrowing:
        return replace(self, end=end if self.end is None else min(self.end, end))


def _both(before: frozenset[Any] | None, values: Sequence[Any]) -> frozenset[Any]:
    return frozenset(values) if before is None else before & frozenset(values)

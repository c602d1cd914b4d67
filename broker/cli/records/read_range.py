"""Where ``consume`` begins and ends: offsets, distances from the end, times."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.cli.arguments.moments import instant_ms
from odradek.broker.cli.arguments.refusals import Refused
from odradek.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from odradek.client.cluster import Cluster
    from odradek.protocol.topic_partition import TopicPartition

BEGINNING = "beginning"
END = "end"
_SHOWN_MAX = 5


class Edge(NamedTuple):
    """An offset, so many before the end, a time in ms, the beginning or the end."""

    offset: int | None = None
    before_end: int | None = None
    time_ms: int | None = None


def parse_edge(text: str) -> Edge:
    """``beginning``, ``end``, ``42``, ``-10`` or ``@TIME``; for ``type=``."""
    if text in (BEGINNING, "earliest"):
        return Edge()
    if text in (END, "latest"):
        return Edge(before_end=0)
    if text.startswith("@"):
        return Edge(time_ms=instant_ms(text[1:]))
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and int(digits) < 1 << 63):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an offset; write beginning, end, 42, -10 or"
            " @2026-01-31T12:00:00Z"
        )
    if text.startswith("-"):
        return Edge(before_end=int(digits))
    return Edge(offset=int(text))


class Bounds(NamedTuple):
    """Where the log of a partition begins, and where it ends for this reader."""

    start: int
    end: int

    def text(self, place: TopicPartition) -> str:
        """Which offsets a partition has, for people."""
        if self.start == self.end:
            return f"{place} is empty, and its next offset is {self.end}"
        return f"{place} has {self.start} to {self.end - 1}"


def bounds_of(
    cluster: Cluster, places: Sequence[TopicPartition], *, committed: bool
) -> dict[TopicPartition, Bounds]:
    """The bounds of partitions as they are now.

    Raises:
        KafkaError: a partition cannot be asked.
    """
    from odradek.client.list_offsets import EARLIEST, LATEST

    starts = _listed(cluster, places, EARLIEST, committed=committed)
    ends = _listed(cluster, places, LATEST, committed=committed)
    return {place: Bounds(starts[place], ends[place]) for place in places}


def check_offset(
    cluster: Cluster,
    edge: Edge,
    places: Sequence[TopicPartition],
    ends: Mapping[TopicPartition, int],
) -> list[str]:
    """See that partitions have the offset of ``edge``, if it is one.

    Who reads only up to the offsets in ``ends`` needs no partition that ends before it.
    Returns what there is to say of those that have removed it.

    Raises:
        Refused: none of them has it, or one of them does not have it yet.
    """
    offset = edge.offset
    if offset is None:
        return []
    bounds = bounds_of(cluster, places, committed=False)
    early = [place for place, each in bounds.items() if offset > each.end]
    late = [place for place, each in bounds.items() if offset < each.start]
    is_needed = any(place not in ends or ends[place] > offset for place in early)
    if is_needed or (bounds and len(early) + len(late) == len(bounds)):
        raise Refused(
            f"there is no offset {offset}: {_extents(bounds)}",
            what=" ".join(sorted({place.topic for place in bounds})),
            name=ErrorCode.OFFSET_OUT_OF_RANGE.name,
        )
    return [
        f"{place} no longer has offset {offset}; it begins at {bounds[place].start}"
        for place in sorted(late)
    ]


def _extents(bounds: Mapping[TopicPartition, Bounds]) -> str:
    """Like ``orders-0 has 0 to 11, 2 others are empty``; of many, the first."""
    blank = [place for place, each in bounds.items() if each == (0, 0)]
    if len(blank) == len(bounds) > 1:
        return f"all {len(blank)} partitions are empty"
    is_counted = len(blank) > 1
    told = {
        place: each
        for place, each in sorted(bounds.items())
        if not (is_counted and each == (0, 0))
    }
    texts = [each.text(place) for place, each in list(told.items())[:_SHOWN_MAX]]
    if left := len(told) - len(texts):
        texts.append(f"and {left} more")
    if is_counted:
        texts.append(f"{len(blank)} others are empty")
    return ", ".join(texts)


def offsets_of(
    cluster: Cluster,
    edge: Edge,
    bounds: Mapping[TopicPartition, Bounds],
    *,
    committed: bool,
) -> dict[TopicPartition, int]:
    """The offset in each partition, within its bounds."""
    if edge.time_ms is not None:
        listed = _listed(cluster, list(bounds), edge.time_ms, committed=committed)
        return {
            place: bounds[place].end if offset < 0 else offset
            for place, offset in listed.items()
        }
    return {place: _within(edge, each) for place, each in bounds.items()}


def _within(edge: Edge, bounds: Bounds) -> int:
    if edge.offset is not None:
        return max(edge.offset, bounds.start)
    if edge.before_end is not None:
        return max(bounds.end - edge.before_end, bounds.start)
    return bounds.start


def _listed(
    cluster: Cluster, places: Sequence[TopicPartition], time: int, *, committed: bool
) -> dict[TopicPartition, int]:
    from odradek.client.list_offsets import list_offsets

    listing = list_offsets(cluster, dict.fromkeys(places, time), committed=committed)
    for place, error in listing.failed.items():
        raise type(error)(f"{place}: {error}")
    return {place: each.offset for place, each in listing.found.items()}

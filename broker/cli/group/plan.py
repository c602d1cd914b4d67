"""From which offsets a group would go on, and what there is to say about them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.cli.arguments.refusals import Refused, name_of, near_name
from odradek.client.list_offsets import EARLIEST, LATEST, NO_OFFSET, list_offsets
from odradek.protocol.errors import UnknownTopicOrPartition
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from odradek.client.cluster import Cluster

    Committed = Mapping[TopicPartition, int]
    Asked = Sequence[tuple[str, Sequence[int] | None]]


class Move(NamedTuple):
    """A partition: the offset it has now (None for none), and the new one."""

    place: TopicPartition
    current: int | None
    offset: int
    note: str


class Bounds(NamedTuple):
    """Where a log begins, and where it ends for consumers."""

    earliest: int
    latest: int


class Target(NamedTuple):
    """What to go to: an offset, a time in ms or place in the log, or a distance."""

    offset: int | None = None
    timestamp: int | None = None
    shift: int | None = None


def target_of(
    options: argparse.Namespace, now_s: Callable[[], float] = time.time
) -> Target:
    """What the arguments say; exactly one of them is there."""
    if options.to_earliest:
        return Target(timestamp=EARLIEST)
    if options.to_latest:
        return Target(timestamp=LATEST)
    if options.to_datetime is not None:
        return Target(timestamp=options.to_datetime)
    if options.by_duration is not None:
        return Target(timestamp=max(int(now_s() * 1000) - options.by_duration, 0))
    return Target(offset=options.to_offset, shift=options.shift_by)


def scope(cluster: Cluster, asked: Asked, committed: Committed) -> list[TopicPartition]:
    """The partitions that were asked for; without any, all that are committed.

    Raises:
        Refused: one of them is not there, or nothing is committed.
    """
    if not asked:
        if not committed:
            raise Refused("nothing is committed; name topics with --topic")
        return sorted(committed)
    metadata = cluster.metadata([name for name, _ in asked])
    places: set[TopicPartition] = set()
    for name, numbers in asked:
        topic = metadata.topics.get(name)
        if topic is None:
            error = metadata.failed.get(name) or UnknownTopicOrPartition()
            text = f"{error} {near_name(cluster, error, name)}".strip()
            raise Refused(text, what=name, name=name_of(error))
        missing = sorted(set(numbers or ()) - set(topic.leaders))
        if missing:
            unknown = name_of(UnknownTopicOrPartition())
            raise Refused(topic.lacks(missing[0]), what=name, name=unknown)
        wanted = topic.leaders if numbers is None else numbers
        places.update(TopicPartition(name, number) for number in wanted)
    return sorted(places)


def plan(
    cluster: Cluster,
    places: Sequence[TopicPartition],
    committed: Committed,
    target: Target,
) -> list[Move]:
    """The new offset of each partition, always one that its log has.

    Raises:
        Refused: there is an offset to shift, or a log to look into, missing.
    """
    earliest = _listed(cluster, places, EARLIEST)
    latest = _listed(cluster, places, LATEST)
    found = {}
    if target.timestamp == EARLIEST:
        found = earliest
    elif target.timestamp is not None and target.timestamp != LATEST:
        found = _listed(cluster, places, target.timestamp)
    moves = []
    for place in places:
        current = committed.get(place)
        wanted, note = _wanted(place, target, current, found.get(place, NO_OFFSET))
        bounds = Bounds(earliest[place], latest[place])
        moves.append(_within(Move(place, current, wanted, note), bounds))
    return moves


def _listed(
    cluster: Cluster, places: Sequence[TopicPartition], timestamp: int
) -> dict[TopicPartition, int]:
    listing = list_offsets(cluster, dict.fromkeys(places, timestamp))
    for place, error in listing.failed.items():
        raise Refused(str(error), what=str(place), name=name_of(error))
    return {place: each.offset for place, each in listing.found.items()}


_END = 1 << 63  # beyond every offset: becomes the end of the log


def _wanted(
    place: TopicPartition, target: Target, current: int | None, found: int
) -> tuple[int, str]:
    if target.offset is not None:
        return target.offset, ""
    if target.shift is not None:
        if current is None:
            text = "nothing is committed that could be shifted"
            raise Refused(text, what=str(place))
        return current + target.shift, ""
    if target.timestamp == LATEST:
        return _END, ""
    if found == NO_OFFSET:
        return _END, "no record since then; the end is taken"
    return found, ""


def _within(move: Move, bounds: Bounds) -> Move:
    """The move, to the nearest offset that the log has."""
    if move.offset == _END:
        return move._replace(offset=bounds.latest)
    if move.offset < bounds.earliest:
        note = f"{move.offset} is before the beginning, which is taken instead"
        return move._replace(offset=bounds.earliest, note=note)
    if move.offset > bounds.latest:
        note = f"{move.offset} is past the end, which is taken instead"
        return move._replace(offset=bounds.latest, note=note)
    return move

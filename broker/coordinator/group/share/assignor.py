"""The simple assignor: how the members of a share group share partitions.

Several members may read one partition. There are as many members to a partition as
are needed to give everybody something, and no more; beyond that it is

- even: members have as many partitions as others, or one more;
- calm: whoever has a partition keeps it, as far as it is even with that.

Each partition has a member, and each member a partition, if there are any.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from odradek.broker.coordinator.group.state.consumer.member import Partitions

NAME = "simple"
Place = tuple[bytes, int]


class Sharer(NamedTuple):
    """A member; ``had`` is its part of the last target."""

    member_id: str
    topic_ids: frozenset[bytes]
    had: Partitions


def assign_simple(
    sharers: Sequence[Sharer], partitions: Partitions
) -> dict[str, Partitions]:
    """What each member shall read of the partitions that can be read."""
    ordered = sorted(sharers, key=lambda each: each.member_id)
    found: dict[str, list[Place]] = {each.member_id: [] for each in ordered}
    if len({each.topic_ids for each in ordered}) <= 1:
        topic_ids = ordered[0].topic_ids if ordered else frozenset()
        _share(ordered, _places(partitions, topic_ids), found)
    else:
        for topic_id in sorted(partitions):
            readers = [each for each in ordered if topic_id in each.topic_ids]
            # Who has little so far is the first to get one more.
            readers.sort(key=lambda each: len(found[each.member_id]))
            _share(readers, _places(partitions, frozenset((topic_id,))), found)
    return {member_id: _by_topic(places) for member_id, places in found.items()}


def _places(partitions: Partitions, topic_ids: frozenset[bytes]) -> list[Place]:
    return [
        (topic_id, number)
        for topic_id in sorted(topic_ids & partitions.keys())
        for number in sorted(partitions[topic_id])
    ]


def _share(
    sharers: Sequence[Sharer], places: list[Place], found: dict[str, list[Place]]
) -> None:
    """Give each of these members its part of all of these partitions."""
    if not sharers or not places:
        return
    sharing = -(-len(sharers) // len(places))
    room = dict.fromkeys(places, sharing)
    had = [_had(each, room) for each in sharers]
    quotas = _quotas([len(each) for each in had], sharing * len(places))
    parts: list[dict[Place, None]] = []
    for before, quota in zip(had, quotas, strict=True):
        kept: dict[Place, None] = {}
        for place in before:
            if len(kept) < quota and room[place]:
                room[place] -= 1
                kept[place] = None
        parts.append(kept)
    free = deque(place for place in places for _ in range(room[place]))
    for each, part, quota in zip(sharers, parts, quotas, strict=True):
        _fill(part, free, quota)
        found[each.member_id] += part


def _quotas(had_counts: list[int], place_count: int) -> list[int]:
    """How many each member gets: they differ by one at most.

    Who had more than the least keeps one of those that are left over, as long as there
    are some; those that nobody needs for that are for the first of the others.
    """
    least, extra = divmod(place_count, len(had_counts))
    quotas = [least] * len(had_counts)
    # The sort is stable: among equals the first comes first.
    wanting = sorted(range(len(quotas)), key=lambda each: had_counts[each] <= least)
    for position in wanting[:extra]:
        quotas[position] += 1
    return quotas


def _had(sharer: Sharer, room: Mapping[Place, int]) -> list[Place]:
    return [
        (topic_id, number)
        for topic_id, numbers in sorted(sharer.had.items())
        for number in sorted(numbers)
        if (topic_id, number) in room
    ]


def _fill(part: dict[Place, None], free: deque[Place], quota: int) -> None:
    """Take what is free, unless it is the member's already.

    If nothing else is left it goes without: others have the place, and it something.
    """
    for _ in range(len(free)):
        if len(part) >= quota:
            return
        place = free.popleft()
        if place in part:
            free.append(place)
        else:
            part[place] = None


def _by_topic(places: list[Place]) -> Partitions:
    numbers: dict[bytes, list[int]] = {}
    for topic_id, number in places:
        numbers.setdefault(topic_id, []).append(number)
    return {topic_id: frozenset(of) for topic_id, of in numbers.items()}

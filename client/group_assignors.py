"""Who of a group reads which partitions: decided by the member that leads it.

Three of the assignors that every client knows by name, so that a group may have
members of any client. The same input gives the same answer.
"""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Assignment = dict[str, list[TopicPartition]]
    Assignor = Callable[[Sequence["Subscriber"], Mapping[str, int]], Assignment]


class Subscriber(NamedTuple):
    """A member: the topics that it wants, and what it reads and has not given up."""

    member_id: str
    topics: frozenset[str]
    owned: tuple[TopicPartition, ...] = ()
    generation_id: int = -1


def assign_ranges(
    members: Sequence[Subscriber], counts: Mapping[str, int]
) -> Assignment:
    """Of each topic a stretch for each member, the first members' one longer."""
    given: Assignment = {each.member_id: [] for each in members}
    for topic, count in sorted(counts.items()):
        wanting = _wanting(members, topic)
        start = 0
        for rank, member_id in enumerate(wanting):
            size = count // len(wanting) + (rank < count % len(wanting))
            numbers = range(start, start + size)
            given[member_id] += [TopicPartition(topic, number) for number in numbers]
            start += size
    return given


def assign_round_robin(
    members: Sequence[Subscriber], counts: Mapping[str, int]
) -> Assignment:
    """All partitions one after the other, to each of the members in turn."""
    given: Assignment = {each.member_id: [] for each in members}
    wanted = {each.member_id: each.topics for each in members}
    turns = cycle(sorted(wanted))
    for place in _places(members, counts):
        member_id = next(each for each in turns if place.topic in wanted[each])
        given[member_id].append(place)
    return given


def assign_cooperatively(
    members: Sequence[Subscriber], counts: Mapping[str, int]
) -> Assignment:
    """As even as can be, moving little, and nothing before it is given up (KIP-429).

    What moves is nobody's in this round: its owner reads the answer, gives it up and
    joins again.
    """
    owners = _owners(members, counts)
    given: Assignment = {each.member_id: [] for each in members}
    for place, member_id in owners.items():
        given[member_id].append(place)
    wanting = {topic: _wanting(members, topic) for topic in counts}
    for place in _places(members, counts):
        if place not in owners:
            least = min(wanting[place.topic], key=lambda each: len(given[each]))
            given[least].append(place)
    _level(given, wanting)
    for member_id, places in given.items():
        places[:] = [
            place for place in places if owners.get(place, member_id) == member_id
        ]
    return given


ASSIGNORS: Mapping[str, Assignor] = {
    "range": assign_ranges,
    "roundrobin": assign_round_robin,
    "cooperative-sticky": assign_cooperatively,
}


def _wanting(members: Sequence[Subscriber], topic: str) -> list[str]:
    return sorted(each.member_id for each in members if topic in each.topics)


def _places(
    members: Sequence[Subscriber], counts: Mapping[str, int]
) -> list[TopicPartition]:
    """What somebody wants."""
    wanted = frozenset().union(*(each.topics for each in members))
    return [
        TopicPartition(topic, number)
        for topic, count in sorted(counts.items())
        if topic in wanted
        for number in range(count)
    ]


def _owners(
    members: Sequence[Subscriber], counts: Mapping[str, int]
) -> dict[TopicPartition, str]:
    """Who reads what; of two that say so, who was in the later generation."""
    owners: dict[TopicPartition, str] = {}
    generations: dict[TopicPartition, int] = {}
    for member in sorted(members):
        for place in member.owned:
            is_there = place.partition < counts.get(place.topic, 0)
            if not is_there or place.topic not in member.topics:
                continue
            if member.generation_id > generations.get(place, -2):
                owners[place] = member.member_id
                generations[place] = member.generation_id
    return owners


def _level(given: Assignment, wanting: Mapping[str, Sequence[str]]) -> None:
    """Move partitions, one by one, to members that have at least two fewer."""
    is_moving = True
    while is_moving:
        is_moving = False
        for member_id in sorted(given, key=lambda each: -len(given[each])):
            for place in reversed(given[member_id]):
                least = min(wanting[place.topic], key=lambda each: len(given[each]))
                if len(given[least]) + 2 <= len(given[member_id]):
                    given[member_id].remove(place)
                    given[least].append(place)
                    is_moving = True
                    break

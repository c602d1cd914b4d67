"""What an assignor is told: members with their topics, and what they had."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from odradek.broker.coordinator.group.state.consumer.member import Partitions

Place = tuple[bytes, int]
"""A partition, by the id of its topic."""


class Subscriber(NamedTuple):
    """A member; ``had`` is its part of the last target."""

    member_id: str
    instance_id: str | None
    topic_ids: frozenset[bytes]
    had: Partitions


def places_kept(subscriber: Subscriber, counts: Mapping[bytes, int]) -> list[Place]:
    """What a member had, subscribes to, and is there; in order."""
    return [
        (topic_id, partition)
        for topic_id, partitions in sorted(subscriber.had.items())
        if topic_id in subscriber.topic_ids and topic_id in counts
        for partition in sorted(partitions)
        if partition < counts[topic_id]
    ]


def by_topic(places: Iterable[Place]) -> Partitions:
    """The same partitions, by their topics."""
    numbers: dict[bytes, list[int]] = {}
    for topic_id, partition in places:
        numbers.setdefault(topic_id, []).append(partition)
    return {topic_id: frozenset(of) for topic_id, of in numbers.items()}

"""The uniform assignor: as many partitions for everybody, and as few moves as can be.

Whether all members subscribe to the same topics decides how that is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .subscriber import by_topic, places_kept
from .uneven import assign_uneven

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from odradek.broker.coordinator.group.state.consumer.member import Partitions

    from .subscriber import Place, Subscriber


def assign_uniform(
    subscribers: Sequence[Subscriber], counts: Mapping[bytes, int]
) -> dict[str, Partitions]:
    """What each member shall read; ``counts`` has the partitions of every topic."""
    ordered = sorted(subscribers)
    if not ordered:
        return {}
    topic_ids = ordered[0].topic_ids
    if any(each.topic_ids != topic_ids for each in ordered):
        return assign_uneven(ordered, counts)
    places = [
        (topic_id, partition)
        for topic_id in sorted(topic_ids & counts.keys())
        for partition in range(counts[topic_id])
    ]
    kept = [places_kept(each, counts) for each in ordered]
    quotas = _quotas([len(each) for each in kept], len(places))
    waiting = _free(places, kept, quotas)
    return {
        each.member_id: by_topic(
            [*had[:quota], *(next(waiting) for _ in range(quota - len(had)))]
        )
        for each, had, quota in zip(ordered, kept, quotas, strict=True)
    }


def _quotas(had_counts: list[int], place_count: int) -> list[int]:
    """How many each member gets: they differ by one at most.

    Who had more than the least keeps one of those that are left over, as long as there
    are some; those that nobody needs for that are for the last members.
    """
    least, extra = divmod(place_count, len(had_counts))
    quotas = []
    for position, had_count in enumerate(had_counts):
        behind = len(had_counts) - position
        gets_one = extra > 0 and (had_count > least or behind <= extra)
        extra -= gets_one
        quotas.append(least + gets_one)
    return quotas


def _free(
    places: list[Place], kept: list[list[Place]], quotas: list[int]
) -> Iterator[Place]:
    """First what nobody had, then what is given back."""
    owned = {place for had in kept for place in had}
    yield from (place for place in places if place not in owned)
    for had, quota in zip(kept, quotas, strict=True):
        yield from had[quota:]

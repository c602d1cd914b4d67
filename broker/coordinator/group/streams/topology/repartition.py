"""How many partitions the repartition topics of a topology have.

Given by the application, or as many as the largest input of the subtopology that
writes it has: which may be a repartition topic again.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from odradek.protocol.coordinator_errors import StreamsInvalidTopology

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from odradek.broker.coordinator.group.state.streams.topology import (
        Subtopology,
        Topology,
    )


def repartition_counts(
    topology: Topology, count_of: Callable[[str], int]
) -> dict[str, int]:
    """The partitions of each; ``count_of`` knows all source topics.

    Raises:
        StreamsInvalidTopology: Some wait for each other, or one has no origin.
    """
    subtopologies = topology.subtopologies
    counts = {
        topic.name: topic.partitions
        for each in subtopologies
        for topic in each.repartition_sources
        if topic.partitions
    }
    readers: dict[str, list[int]] = {}
    for place, each in enumerate(subtopologies):
        for topic in each.repartition_sources:
            readers.setdefault(topic.name, []).append(place)
    # As in RepartitionTopics of Apache Kafka the subtopologies are gone through again
    # and again, and one decides as soon as it knows any of its inputs, though others
    # may be larger in the end. Those that know none are left out of a round.
    due = [
        (0, place)
        for place, each in enumerate(subtopologies)
        if _largest_input(each, counts, count_of)
    ]
    has_decided = [False] * len(subtopologies)
    while due:
        turn, place = heappop(due)
        if has_decided[place]:
            continue
        has_decided[place] = True
        count = _largest_input(subtopologies[place], counts, count_of)
        for name in subtopologies[place].repartition_sinks:
            if name not in counts:
                counts[name] = count
                for reader in readers.get(name, ()):
                    heappush(due, (turn + (reader <= place), reader))
    _check(subtopologies, counts)
    return counts


def _largest_input(
    subtopology: Subtopology, counts: dict[str, int], count_of: Callable[[str], int]
) -> int:
    """As far as it is known; 0 if it is not."""
    repartitions = (counts.get(of.name, 0) for of in subtopology.repartition_sources)
    return max((*repartitions, *map(count_of, subtopology.source_topics)), default=0)


def _check(subtopologies: Sequence[Subtopology], counts: dict[str, int]) -> None:
    sinks = (name for each in subtopologies for name in each.repartition_sinks)
    if any(name not in counts for name in sinks):
        raise StreamsInvalidTopology(
            "Failed to compute number of partitions for all repartition topics. "
            "There may be loops in the topology that cannot be resolved."
        )
    sources = (of.name for each in subtopologies for of in each.repartition_sources)
    if any(name not in counts for name in sources):
        raise StreamsInvalidTopology(
            "Failed to compute number of partitions for all repartition topics, "
            "because a repartition source topic is never used as a sink topic."
        )

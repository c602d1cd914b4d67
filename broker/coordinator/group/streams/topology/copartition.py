"""Inputs that are joined have the same number of partitions.

Repartition topics without a number of their own follow the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.coordinator_errors import StreamsInvalidTopology

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping

    from odradek.broker.coordinator.group.state.streams.topology import (
        CopartitionGroup,
        Subtopology,
        Topology,
    )


class IncorrectlyPartitioned(Exception):
    """Topics have other numbers of partitions than the topology needs."""


def copartition(
    topology: Topology, decided: dict[str, int], count_of: Callable[[str], int]
) -> None:
    """Change what is ``decided`` of repartition topics, as their groups need it.

    Raises:
        IncorrectlyPartitioned: Topics that cannot be changed differ.
        StreamsInvalidTopology: A group names inputs that there are not.
    """
    internal = [
        topic for each in topology.subtopologies for topic in each.repartition_sources
    ]
    fixed = {topic.name: count_of(topic.name) for topic in internal if topic.partitions}
    fixed_counts = frozenset(fixed.values())
    own_names = {topic.name for topic in internal}
    for each in topology.subtopologies:
        for group in each.copartition_groups:
            counts = {name: count_of(name) for name in sorted({*_names(each, group)})}
            own = {name: counts[name] for name in counts.keys() & own_names}
            if not counts:
                continue
            if len(own) < len(counts):
                others = {name: counts[name] for name in counts if name not in own}
                count = _only(frozenset(others.values()), others)
            elif fixed:
                # CopartitionedTopicsEnforcer compares all fixed ones of the topology,
                # not those of this group. The topics must come out as they do there.
                count = _only(fixed_counts, counts)
            else:
                count = max(own.values())
            _adapt(own, fixed, count)
            decided.update(dict.fromkeys(own, count))


def _names(subtopology: Subtopology, group: CopartitionGroup) -> Iterator[str]:
    sources, repartitions = subtopology.source_topics, subtopology.repartition_sources
    for inputs, places in (
        (sources, group.source_topics),
        (repartitions, group.repartition_sources),
    ):
        if any(not 0 <= place < len(inputs) for place in places):
            raise StreamsInvalidTopology(
                f"A copartition group of subtopology {subtopology.subtopology_id} "
                f"names inputs that it does not have."
            )
    yield from (sources[place] for place in group.source_topics)
    yield from (repartitions[place].name for place in group.repartition_sources)


def _only(counts: frozenset[int], shown: Mapping[str, int]) -> int:
    """The one number that there is."""
    if len(counts) > 1:
        text = ", ".join(f"{name}={count}" for name, count in shown.items())
        raise IncorrectlyPartitioned(
            f"Following topics do not have the same number of partitions: [{{{text}}}]"
        )
    return next(iter(counts))


def _adapt(own: Mapping[str, int], fixed: Container[str], count: int) -> None:
    for name in sorted(own):
        if name in fixed and own[name] != count:
            raise IncorrectlyPartitioned(
                f"Number of partitions [{own[name]}] of repartition topic [{name}] "
                f"doesn't match number of partitions [{count}] of the source topic."
            )

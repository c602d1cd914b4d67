"""Beside the topics that there are: how many partitions a topology's own topics need.

As InternalTopicManager of Apache Kafka, and with its words. Where that goes by the
order of hashes, this goes by ids and names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.state.streams.configured import (
    ConfiguredSubtopology,
    ConfiguredTopology,
    Problem,
    Status,
)
from odradek.protocol.coordinator_errors import StreamsInvalidTopology

from .copartition import IncorrectlyPartitioned, copartition
from .repartition import repartition_counts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from odradek.broker.coordinator.group.state.streams.topology import (
        InternalTopic,
        Subtopology,
        Topology,
    )

SHOWN_MAX = 3


def configure(
    topology: Topology, count_of: Callable[[str], int | None]
) -> ConfiguredTopology:
    """What the topology is with these topics, or why it cannot be anything yet.

    Raises:
        StreamsInvalidTopology: It could not be configured with any topics.
    """
    sources = {name for each in topology.subtopologies for name in each.source_topics}
    absent = sorted(name for name in sources if count_of(name) is None)
    if absent:
        detail = f"Source topics {_shown(absent)} are missing."
        problem = Problem(Status.MISSING_SOURCE_TOPICS, detail)
        return ConfiguredTopology(topology.epoch, None, problem=problem)
    try:
        subtopologies = _configured(topology, count_of)
        missing = _missing(subtopologies, count_of)
    except IncorrectlyPartitioned as found:
        problem = Problem(Status.INCORRECTLY_PARTITIONED_TOPICS, str(found))
        return ConfiguredTopology(topology.epoch, None, problem=problem)
    if not missing:
        return ConfiguredTopology(topology.epoch, subtopologies)
    detail = f"Internal topics are missing: {_shown([each.name for each in missing])}"
    problem = Problem(Status.MISSING_INTERNAL_TOPICS, detail)
    return ConfiguredTopology(topology.epoch, subtopologies, missing, problem)


def _configured(
    topology: Topology, count_of: Callable[[str], int | None]
) -> dict[str, ConfiguredSubtopology]:
    """Every subtopology, with the partitions that each of its topics shall have."""
    decided: dict[str, int] = {}

    def known(name: str) -> int:
        """What there is goes before what was decided."""
        count = count_of(name)
        return decided[name] if count is None else count

    decided.update(repartition_counts(topology, known))
    copartition(topology, decided, known)
    task_counts = {}
    for each in topology.subtopologies:
        inputs = [*each.source_topics, *(of.name for of in each.repartition_sources)]
        if not inputs:
            raise StreamsInvalidTopology(
                f"No source topics found for subtopology {each.subtopology_id}"
            )
        task_counts[each.subtopology_id] = max(map(known, inputs))
    for each in topology.subtopologies:
        count = task_counts[each.subtopology_id]
        decided.update({topic.name: count for topic in each.changelogs})
    return {
        each.subtopology_id: ConfiguredSubtopology(
            task_counts[each.subtopology_id],
            tuple(sorted(set(each.source_topics))),
            _with_counts(each, each.repartition_sources, decided),
            tuple(sorted(set(each.repartition_sinks))),
            _with_counts(each, each.changelogs, decided),
        )
        for each in topology.subtopologies
    }


def _with_counts(
    subtopology: Subtopology,
    topics: Sequence[InternalTopic],
    decided: Mapping[str, int],
) -> tuple[InternalTopic, ...]:
    found = {
        topic.name: topic._replace(partitions=topic.partitions or decided[topic.name])
        for topic in topics
    }
    if len(found) < len(topics):
        raise StreamsInvalidTopology(
            f"Subtopology {subtopology.subtopology_id} names an internal topic twice."
        )
    return tuple(found[name] for name in sorted(found))


def _missing(
    subtopologies: Mapping[str, ConfiguredSubtopology],
    count_of: Callable[[str], int | None],
) -> tuple[InternalTopic, ...]:
    """The internal topics that are to be made; those that are there must fit."""
    needed: dict[str, InternalTopic] = {}
    for each in subtopologies.values():
        for topic in (*each.repartition_sources, *each.changelogs):
            needed[topic.name] = topic
    missing = []
    for name, topic in sorted(needed.items()):
        count = count_of(name)
        if count is None:
            missing.append(topic)
        elif count != topic.partitions:
            raise IncorrectlyPartitioned(
                f"Existing topic {name} has different number of partitions: "
                f"expected {topic.partitions}, found {count}"
            )
    return tuple(missing)


def _shown(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN_MAX])
    more = len(names) - SHOWN_MAX
    return f"{shown} and {more} additional topics" if more > 0 else shown

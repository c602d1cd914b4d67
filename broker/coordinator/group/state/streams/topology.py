"""What an application of Kafka Streams computes, as far as a broker has to know it.

A topology is divided into subtopologies, which hand records to each other through
repartition topics. Each subtopology is as many tasks as its input has partitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple


class InternalTopic(NamedTuple):
    """A topic that belongs to the application alone.

    ``partitions`` 0: the broker finds out how many. ``replication_factor`` 0: the
    broker's default. The options are sorted by name.
    """

    name: str
    partitions: int = 0
    replication_factor: int = 0
    configs: tuple[tuple[str, str], ...] = ()


class CopartitionGroup(NamedTuple):
    """Inputs of one subtopology that need the same number of partitions.

    By their places in the subtopology's own lists.
    """

    source_topics: tuple[int, ...] = ()
    source_patterns: tuple[int, ...] = ()
    repartition_sources: tuple[int, ...] = ()


class Subtopology(NamedTuple):
    """One part of a topology, in the order in which the client says it."""

    subtopology_id: str
    source_topics: tuple[str, ...] = ()
    source_patterns: tuple[str, ...] = ()
    repartition_sources: tuple[InternalTopic, ...] = ()
    repartition_sinks: tuple[str, ...] = ()
    changelogs: tuple[InternalTopic, ...] = ()
    copartition_groups: tuple[CopartitionGroup, ...] = ()

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of all topics that it reads."""
        return self.source_topics + tuple(
            each.name for each in self.repartition_sources
        )


@dataclass(frozen=True)
class Topology:
    """All of it; subtopologies are sorted by id, each id once."""

    epoch: int
    subtopologies: tuple[Subtopology, ...] = ()

    @cached_property
    def subtopology_of(self) -> dict[str, str]:
        """The id of the subtopology that reads each topic."""
        return {
            topic: each.subtopology_id
            for each in self.subtopologies
            for topic in each.inputs
        }

    @cached_property
    def required_topics(self) -> frozenset[str]:
        """Every topic that has to be there before there are tasks."""
        changelogs = (
            topic.name for each in self.subtopologies for topic in each.changelogs
        )
        return frozenset(self.subtopology_of).union(changelogs)

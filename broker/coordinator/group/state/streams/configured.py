"""A topology beside the topics that there are: how many tasks, and what is missing."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .topology import InternalTopic


class Status(IntEnum):
    """What a member is told of its group, numbered as in the protocol."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


class Problem(NamedTuple):
    """Why nothing can be assigned yet; the text is Apache Kafka's."""

    status: Status
    detail: str


class ConfiguredSubtopology(NamedTuple):
    """A part of the topology whose topics all have their number of partitions.

    Each list is sorted by name, and has each name once.
    """

    task_count: int
    source_topics: tuple[str, ...] = ()
    repartition_sources: tuple[InternalTopic, ...] = ()
    repartition_sinks: tuple[str, ...] = ()
    changelogs: tuple[InternalTopic, ...] = ()

    @property
    def is_stateful(self) -> bool:
        """Whether its tasks have a state, which standby tasks can follow."""
        return bool(self.changelogs)


class ConfiguredTopology(NamedTuple):
    """What `configure` finds. Without subtopologies the problem is 1 or 2.

    ``missing`` are the internal topics that are to be made, with the number of their
    partitions: problem 3, and then there are subtopologies.
    """

    epoch: int
    subtopologies: Mapping[str, ConfiguredSubtopology] | None
    missing: tuple[InternalTopic, ...] = ()
    problem: Problem | None = None

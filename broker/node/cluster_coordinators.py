"""What leads no more, or leads anew, as the coordinators of a member are told it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odradek.broker.coordinator.runtime import CoordinatorRuntime
    from odradek.protocol.topic_partition import TopicPartition

    from .parts import Parts


class ClusterCoordinators:
    """The coordinators of a broker, and what share groups have of its partitions."""

    def __init__(self, services: Parts) -> None:
        self._services = services

    def elect(self, topic_partition: TopicPartition) -> None:
        """This broker leads one of coordinators, by a decision that is new."""
        runtime = self._runtime(topic_partition.topic)
        if runtime is not None:
            runtime.elect(topic_partition.partition)

    def resign(self, topic_partition: TopicPartition) -> None:
        """Another one does, or nobody."""
        runtime = self._runtime(topic_partition.topic)
        if runtime is not None:
            runtime.resign(topic_partition.partition)

    def note_epoch(self, topic_partition: TopicPartition) -> None:
        """Any partition has a new leader, or the same one in a new epoch."""
        sharing = self._services.sharing_in_use
        if sharing is not None:
            sharing.forget_partition(topic_partition)

    def _runtime(self, topic: str) -> CoordinatorRuntime[Any] | None:
        services = self._services
        share_states = services.share_states_in_use
        for runtime in (
            services.groups.runtime,
            services.transactions.runtime,
            None if share_states is None else share_states.runtime,
        ):
            if runtime is not None and runtime.topic == topic:
                return runtime
        return None

"""The brokers of a cluster, as far as coordinators are spread over them.

A broker that is alone has none of this: it leads every partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from odradek.broker.runtime.parked import Parked
    from odradek.protocol.topic_partition import TopicPartition

    from .share.questions import StateQuestion
    from .transaction.add_partitions import Addition
    from .transaction.marker_writer import Marker


class OtherBrokers(Protocol):
    """Who leads what, and what others are asked.

    What is asked is answered, whatever happens, for each partition with an error code;
    a broker that does not answer is one more reason to ask again.
    """

    node_id: int

    def leader_of(self, topic_partition: TopicPartition) -> int | None:
        """The broker that leads, which may be this one. None: nobody does just now."""

    def has(self, topic_partition: TopicPartition) -> bool:
        """Whether there is such a partition at all."""

    def write_markers(
        self, broker_id: int, marker: Marker, partitions: tuple[TopicPartition, ...]
    ) -> Parked[dict[TopicPartition, int]]:
        """Have that broker write a marker into partitions that it leads."""

    def admit(
        self, broker_id: int, addition: Addition
    ) -> Parked[dict[TopicPartition, int]]:
        """Whether records may be written, by the coordinator at that broker."""

    def ask_state(self, broker_id: int, question: StateQuestion) -> Parked[Any]:
        """Ask the share coordinator at that broker; NETWORK_EXCEPTION: no answer."""

    def end_of(self, broker_id: int, topic_partition: TopicPartition) -> Parked[int]:
        """Where readers see a partition end that is led there; -1: it is not said."""

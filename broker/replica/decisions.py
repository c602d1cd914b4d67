"""Who leads which partition, where controllers decide it; replicas do as they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.errors import NotLeaderOrFollower

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.protocol.topic_partition import TopicPartition

    from .partition.partition import Partition
    from .partition.replica_state import LeaderAndIsr
    from .replica_manager import ReplicaManager


class Decisions:
    """What was decided last; a replica manager leads that from now on, and no more."""

    def __init__(
        self,
        node_id: int,
        replica_manager: ReplicaManager,
        decided: Callable[[TopicPartition], LeaderAndIsr | None],
    ) -> None:
        self._node_id = node_id
        self._partitions = replica_manager.asked_for
        replica_manager.decisions = self
        self._decided = decided

    def begin(self, partition: Partition) -> None:
        """The partition is asked for, for the first time."""
        decided = self._decided(partition.topic_partition)
        if decided is None:
            partition.refuse(NotLeaderOrFollower())
        else:
            self._follow(partition, decided)

    def decide(self, topic_partition: TopicPartition, decided: LeaderAndIsr) -> None:
        """Lead a partition, or let others lead it.

        One that nobody has asked for is made where it has followers to watch.
        """
        known = self._partitions.get(topic_partition)
        if known is None and decided.leader == self._node_id:
            if len(decided.replicas) > 1:
                _ = self._partitions[topic_partition]
        elif known is not None:
            self._follow(known, decided)

    def shrink(self) -> None:
        """Go on without followers that lag behind. Called from time to time."""
        for partition in list(self._partitions.values()):
            if partition.replication is not None:
                partition.replication.shrink()

    def _follow(self, partition: Partition, decided: LeaderAndIsr) -> None:
        if decided.partition_epoch < partition.leadership.replicas.partition_epoch:
            return  # late
        partition.leadership.is_elsewhere = decided.leader != self._node_id
        if decided.leader == self._node_id:
            partition.make_leader(decided)
        else:
            partition.make_follower(decided)

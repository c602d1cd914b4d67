"""Who leads which partition, where controllers decide it; replicas do as they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from .partition.replica_state import LeaderAndIsr
from .partition.replication import Replication

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.protocol.topic_partition import TopicPartition

    from .partition.partition import Partition
    from .replica_manager import ReplicaManager

NOBODY: Final = -1


class Leaders(Protocol):
    """Whoever has partitions follow their leaders."""

    def follow(self, partition: Partition, decided: LeaderAndIsr) -> None:
        """Have it follow the leader that was decided; -1: nobody leads."""

    def forget(self, topic_partition: TopicPartition) -> None:
        """It follows nobody any more."""


class Decisions:
    """What was decided last; a replica manager leads that from now on, and no more."""

    def __init__(
        self,
        node_id: int,
        replica_manager: ReplicaManager,
        decided: Callable[[TopicPartition], LeaderAndIsr | None],
    ) -> None:
        self.leaders: Leaders | None = None  # nobody is followed
        self._node_id = node_id
        self._partitions = replica_manager.asked_for
        replica_manager.decisions = self
        self._decided = decided

    def begin(self, partition: Partition) -> None:
        """The partition is asked for, for the first time."""
        decided = self._decided(partition.topic_partition)
        if decided is None:  # it is nobody's, and not ours to lead before we know
            epoch = partition.leadership.epoch
            decided = LeaderAndIsr(NOBODY, epoch, (), ())
        self._follow(partition, decided)

    def decide(self, topic_partition: TopicPartition, decided: LeaderAndIsr) -> None:
        """Lead a partition, or let others lead it.

        One that nobody has asked for is made where it has followers to watch, or a
        leader to follow.
        """
        known = self._partitions.get(topic_partition)
        if known is not None:
            self._follow(known, decided)
        elif self._node_id in decided.replicas and len(decided.replicas) > 1:
            _ = self._partitions[topic_partition]

    def shrink(self) -> None:
        """Go on without followers that lag behind. Called from time to time."""
        for partition in list(self._partitions.values()):
            if isinstance(partition.replication, Replication):
                partition.replication.shrink()

    def look_again(self) -> None:
        """Some brokers are others, or fenced: nobody may have to wait for them."""
        for partition in list(self._partitions.values()):
            if isinstance(partition.replication, Replication):
                partition.replication.look_again()

    def _follow(self, partition: Partition, decided: LeaderAndIsr) -> None:
        if decided.partition_epoch < partition.leadership.replicas.partition_epoch:
            return  # late
        is_replica = self._node_id in decided.replicas
        partition.leadership.is_elsewhere = not is_replica
        leads = decided.leader == self._node_id
        if self.leaders is not None and (leads or not is_replica):
            self.leaders.forget(partition.topic_partition)
        if leads:
            partition.make_leader(decided)
            return
        partition.make_follower(decided)
        if self.leaders is not None and is_replica:
            self.leaders.follow(partition, decided)

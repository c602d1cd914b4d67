"""Who leads a partition, in which epoch, and whether this broker serves it at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.errors import (
    FencedLeaderEpoch,
    KafkaError,
    NotLeaderOrFollower,
    PolicyViolation,
    UnknownLeaderEpoch,
)

if TYPE_CHECKING:
    from .replica_state import ReplicaState

NO_EPOCH = -1


class Leadership:
    """What the controller decided last, as this broker has to follow it.

    ``refusal`` is the reason why the partition serves nobody, while there is one.
    ``epoch_start_offset`` is where the log ended when the leader epoch began,
    ``has_enough_in_sync`` whether acks=all can be promised. ``is_read_only``: it is a
    copy of another cluster's, and takes no writes of clients or coordinators.
    ``is_elsewhere``: this broker is none of its replicas, and has nothing to read.
    """

    __slots__ = (
        "epoch",
        "epoch_start_offset",
        "has_enough_in_sync",
        "is_elsewhere",
        "is_read_only",
        "refusal",
        "replicas",
    )

    def __init__(self, epoch: int, replicas: ReplicaState) -> None:
        self.epoch = epoch
        self.replicas = replicas
        self.epoch_start_offset = 0
        self.has_enough_in_sync = True
        self.is_read_only = self.is_elsewhere = False
        self.refusal: KafkaError | None = None

    def check(self, current_leader_epoch: int = NO_EPOCH) -> None:
        """See that this broker leads the partition, in the epoch the asker knows.

        Raises:
            FencedLeaderEpoch: the asker is behind.
            UnknownLeaderEpoch: the asker knows a later epoch than we do.
            NotLeaderOrFollower: somebody else leads.
            KafkaError: the partition is deleted or offline.
        """
        if self.refusal is not None or (
            current_leader_epoch != NO_EPOCH and current_leader_epoch != self.epoch
        ):
            self.check_replica(current_leader_epoch)
        if not self.replicas.is_leader:
            raise NotLeaderOrFollower

    def check_writable(self) -> None:
        """See that clients may write: as `check`, and it is no copy.

        Raises:
            PolicyViolation: it follows another cluster.
            KafkaError: as `check`.
        """
        self.check()
        if self.is_read_only:
            raise PolicyViolation(
                "the topic is a copy of another cluster's, which a mirror follows; it "
                "is read-only until it is promoted (odradek mirror promote)"
            )

    def check_replica(self, current_leader_epoch: int = NO_EPOCH) -> None:
        """The same, whoever leads: for readers who may read from any replica."""
        if self.refusal is not None:
            # A new one each time: a raised exception keeps its traceback for ever.
            raise type(self.refusal)(str(self.refusal))
        if self.is_elsewhere:
            raise NotLeaderOrFollower
        if current_leader_epoch != NO_EPOCH:
            if current_leader_epoch < self.epoch:
                raise FencedLeaderEpoch
            if current_leader_epoch > self.epoch:
                raise UnknownLeaderEpoch

    def begin_epoch(self, epoch: int, start_offset: int) -> None:
        """Lead in a new epoch; the log ends at ``start_offset`` now."""
        self.epoch = epoch
        self.epoch_start_offset = start_offset

    def set_read_only(self, is_read_only: bool, min_insync_replicas: int) -> None:
        """Follow another cluster, or do so no longer."""
        self.is_read_only = is_read_only
        self.use_replicas(self.replicas, min_insync_replicas)

    def use_replicas(self, replicas: ReplicaState, min_insync_replicas: int) -> None:
        """The controller has decided on the copies."""
        self.replicas = replicas
        # A copy has not: so what is usual finds nothing out of the ordinary here.
        self.has_enough_in_sync = not self.is_read_only and (
            replicas.has_enough_in_sync(min_insync_replicas)
        )

"""Who leads a partition, in which epoch, and whether this broker serves it at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from odradek.protocol.errors import (
    FencedLeaderEpoch,
    KafkaError,
    NotLeaderOrFollower,
    PolicyViolation,
    UnknownLeaderEpoch,
)
from odradek.protocol.record_batch import BATCH_OVERHEAD, read_header
from odradek.storage.producers.append import leaves_out

if TYPE_CHECKING:
    from odradek.storage.files.files import Buffer
    from odradek.storage.producers.states import ProducerStates

    from .host import PartitionHost
    from .replica_state import ReplicaState

NO_EPOCH = -1
# What a client has in flight when we begin to lead is answered in less.
SETTLING_MS: Final = 5_000


class Leadership:
    """What the controller decided last, as this broker has to follow it.

    ``refusal`` is the reason why the partition serves nobody, while there is one.
    ``epoch_start_offset`` is where the log ended when the leader epoch began,
    ``has_enough_in_sync`` whether acks=all can be promised. ``is_read_only``: it is a
    copy of another cluster's, and takes no writes of clients or coordinators.
    ``is_elsewhere``: this broker is none of its replicas, and has nothing to read.
    ``settling_since_ms``, None for long: when it began to lead, or to have enough in
    sync, in a cluster.
    """

    __slots__ = (
        "_host",
        "epoch",
        "epoch_start_offset",
        "has_enough_in_sync",
        "is_elsewhere",
        "is_read_only",
        "refusal",
        "replicas",
        "settling_since_ms",
    )

    def __init__(self, epoch: int, replicas: ReplicaState, host: PartitionHost) -> None:
        self._host = host
        self.settling_since_ms: int | None = None
        self._begin_to_settle()
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
        self._begin_to_settle()

    def set_read_only(self, is_read_only: bool, min_insync_replicas: int) -> None:
        """Follow another cluster, or do so no longer."""
        self.is_read_only = is_read_only
        self.use_replicas(self.replicas, min_insync_replicas)

    def use_replicas(self, replicas: ReplicaState, min_insync_replicas: int) -> None:
        """The controller has decided on the copies."""
        had_enough_in_sync = self.has_enough_in_sync
        self.replicas = replicas
        # A copy has not: so what is usual finds nothing out of the ordinary here.
        self.has_enough_in_sync = not self.is_read_only and (
            replicas.has_enough_in_sync(min_insync_replicas)
        )
        if self.has_enough_in_sync and not had_enough_in_sync:
            self._begin_to_settle()

    # A client that has several batches in flight

    def check_nothing_left_out(self, batch: Buffer, producers: ProducerStates) -> None:
        """See that a client's batch leaves none of its producer's out, while we settle.

        What is left out was refused a moment ago, by us before we led or by who led
        before us, and comes again. A client told OUT_OF_ORDER_SEQUENCE_NUMBER would
        begin a new epoch, and send under new numbers what may be stored already.

        Raises:
            NotLeaderOrFollower: it does; the client sends all of it again, in order.
        """
        cluster, since_ms = self._host.cluster, self.settling_since_ms
        assert cluster is not None
        assert since_ms is not None
        if cluster.now_ms() - since_ms >= SETTLING_MS:
            self.settling_since_ms = None
        elif len(memoryview(batch)) >= BATCH_OVERHEAD:
            header = read_header(batch)
            if header.producer_id >= 0:
                state = producers.get(header.producer_id)
                if leaves_out(state, header):
                    raise NotLeaderOrFollower

    def _begin_to_settle(self) -> None:
        cluster = self._host.cluster
        self.settling_since_ms = None if cluster is None else cluster.now_ms()

"""The other replicas of a partition that we lead: who is how far, who is in sync.

A partition with one copy has no such thing, and pays nothing for it.

Invariants: at most one change of the in-sync replicas is on its way to the controller.
While one is, the high watermark waits for every broker that is in sync before or after
it: the controller may have decided already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from odradek.protocol.errors import (
    ErrorCode,
    KafkaError,
    NotLeaderOrFollower,
    UnknownLeaderEpoch,
)

from .follower import ANY_BROKER_EPOCH, Follower, Reads
from .replica_state import LeaderAndIsr

if TYPE_CHECKING:
    from collections import defaultdict
    from weakref import WeakSet

    from odradek.storage.values.offset_metadata import OffsetMetadata

    from .partition import Partition

_REFUSALS = (ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA)
# The controller knows better than we do, and what it knows is on its way to us.
_OUTDATED = (
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.NEW_LEADER_ELECTED,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


class Cluster(Protocol):
    """What a leader asks about the other brokers, and of the controller."""

    node_id: int
    lag_max_ms: int  # replica.lag.time.max.ms
    reads: defaultdict[int, WeakSet[Reads]]  # by broker, its sessions here

    def now_ms(self) -> int:
        """The time, for lags."""

    def is_alive(self, broker_id: int) -> bool:
        """Whether the broker is registered and not fenced."""

    def may_be_in_sync(self, broker_id: int, broker_epoch: int) -> bool:
        """Whether it is neither fenced nor stopping, nor another start of it."""

    def alter_in_sync(self, partition: Partition, proposal: LeaderAndIsr) -> None:
        """Ask the controller; `Replication.on_answer` gets what it says."""


class Replication:
    """The followers of one partition, and the changes of those in sync."""

    def __init__(self, partition: Partition, cluster: Cluster) -> None:
        self.followers: dict[int, Follower] = {}
        self.proposal: LeaderAndIsr | None = None
        self._partition = partition
        self._cluster = cluster

    def begin(self, decided: LeaderAndIsr, epochs_passed: int) -> None:
        """Lead as the controller decided; what was proposed before that is void.

        A decision may be told again. What was proposed on top of it is on its way then,
        or decided already: who may be in sync by that must go on counting.
        Leader epochs may have passed of which nobody has told us: in one of them
        another broker may have led, and cut the copies that we knew.
        """
        is_new_epoch, proposal = epochs_passed > 0, self.proposal
        if is_new_epoch or (
            proposal is not None and decided.partition_epoch > proposal.partition_epoch
        ):
            self.proposal = None
        now_ms, end = self._cluster.now_ms(), self._partition.view.log_end_offset
        known, self.followers = self.followers, {}
        for broker_id in decided.replicas:
            if broker_id == self._cluster.node_id:
                continue
            follower = known.get(broker_id)
            is_new = follower is None
            if follower is None:
                follower = Follower(broker_id)
            if is_new or is_new_epoch:
                follower.begin_epoch(
                    end,
                    now_ms,
                    is_in_sync=broker_id in decided.in_sync,
                    is_led_anew=is_new or epochs_passed > 1,
                )
                for reads in self._cluster.reads[broker_id]:
                    reads.expect(self._partition.topic_partition, now_ms)
            self.followers[broker_id] = follower

    # Watermarks

    def replicated_end(self, own: OffsetMetadata) -> OffsetMetadata | None:
        """Up to where our own copy, and all that count, hold the log.

        None while fewer are in sync than the topic demands: nothing is replicated
        then. Who is about to join counts as well, lest the watermark run away from it.
        """
        if not self._partition.leadership.has_enough_in_sync:
            return None
        in_sync = self._maximal_in_sync()
        lowest = own
        for follower in self.followers.values():
            if follower.end.offset < lowest.offset and (
                follower.broker_id in in_sync or self._is_joining(follower)
            ):
                lowest = follower.end
        return lowest

    def low_watermark(self, own_log_start: int) -> int:
        """The lowest log start of our own copy and those of living brokers."""
        is_alive = self._cluster.is_alive
        living = [
            follower.log_start_offset
            for follower in self.followers.values()
            if is_alive(follower.broker_id)
        ]
        return min([own_log_start, *living])

    def _maximal_in_sync(self) -> tuple[int, ...]:
        in_sync = self._partition.leadership.replicas.in_sync
        return in_sync if self.proposal is None else in_sync + self.proposal.in_sync

    def _is_joining(self, follower: Follower) -> bool:
        cluster = self._cluster
        end = self._partition.view.log_end_offset
        return follower.is_caught_up(
            end, cluster.now_ms(), cluster.lag_max_ms
        ) and cluster.may_be_in_sync(follower.broker_id, follower.broker_epoch)

    # Fetches

    def follower(self, broker_id: int, *, has_epoch: bool) -> Follower:
        """One that fetches; ``has_epoch``: it said which leader epoch it knows.

        Raises:
            UnknownLeaderEpoch, NotLeaderOrFollower: it holds no copy that we know of.
        """
        follower = self.followers.get(broker_id)
        if follower is None:
            raise UnknownLeaderEpoch if has_epoch else NotLeaderOrFollower
        return follower

    def note_fetch(
        self,
        follower: Follower,
        place: OffsetMetadata,
        log_start_offset: int,
        broker_epoch: int = ANY_BROKER_EPOCH,
    ) -> None:
        """A follower has everything below ``place``, and nothing below its log start.

        Not for one that was told where its history diverges from ours.
        """
        if ANY_BROKER_EPOCH < broker_epoch < follower.broker_epoch:
            return  # of a start that is over
        partition, end_before = self._partition, follower.end.offset
        low_watermark = None  # which moves with the log start alone
        if log_start_offset != follower.log_start_offset:
            low_watermark = partition.low_watermark
        follower.note_fetch(
            place,
            log_start_offset,
            partition.view.log_end_offset,
            self._cluster.now_ms(),
            broker_epoch,
        )
        if follower.broker_id not in partition.leadership.replicas.in_sync:
            self._expand(follower)
        has_moved = end_before != place.offset and partition.raise_high_watermark()
        if has_moved or (
            low_watermark is not None and partition.low_watermark > low_watermark
        ):
            partition.check_all_waiting()

    def note_append(self) -> None:
        """Followers that wait are to read, or to be told who leads by now."""
        key = self._partition.topic_partition
        for follower in self.followers.values():
            if follower.reads is not None:
                follower.reads.note_append(key)

    def note_change(self) -> None:
        """Followers are to be told of a watermark, when there is more to tell."""
        key = self._partition.topic_partition
        for follower in self.followers.values():
            if follower.reads is not None:
                follower.reads.note_change(key)

    # In-sync replicas

    def shrink(self) -> None:
        """Propose to go on without those that lag behind. Called from time to time."""
        cluster, partition = self._cluster, self._partition
        now_ms, end = cluster.now_ms(), partition.view.log_end_offset
        in_sync = partition.leadership.replicas.in_sync
        lagging = [
            follower.broker_id
            for follower in self.followers.values()
            if follower.broker_id in in_sync
            and not follower.is_caught_up(end, now_ms, cluster.lag_max_ms)
        ]
        if lagging and self.proposal is None:
            self._propose(tuple(each for each in in_sync if each not in lagging))
        self.look_again()  # who was joining may have given up

    def on_answer(
        self, proposal: LeaderAndIsr, answer: LeaderAndIsr | KafkaError
    ) -> None:
        """What the controller says to a proposal; that to an older one is ignored."""
        if proposal is not self.proposal:
            return
        if isinstance(answer, LeaderAndIsr):
            self._commit(answer)
        elif answer.code in _REFUSALS:
            self.proposal = None
            self.look_again()
        elif answer.code not in _OUTDATED:
            self._cluster.alter_in_sync(self._partition, proposal)

    def _expand(self, follower: Follower) -> None:
        """Propose to count a follower as in sync again, once it has what counts.

        That is all up to the high watermark, and to the beginning of our leader epoch:
        before that, records below may still be known to the leader alone.
        """
        leadership = self._partition.leadership
        in_sync = leadership.replicas.in_sync
        if (
            self.proposal is None
            and follower.end.offset >= self._partition.view.high_watermark
            and follower.end.offset >= leadership.epoch_start_offset
            and self._cluster.may_be_in_sync(follower.broker_id, follower.broker_epoch)
        ):
            self._propose((*in_sync, follower.broker_id))

    def _propose(self, in_sync: tuple[int, ...]) -> None:
        leadership = self._partition.leadership
        self.proposal = LeaderAndIsr(
            self._cluster.node_id,
            leadership.epoch,
            leadership.replicas.replicas,
            in_sync,
            leadership.replicas.partition_epoch,
            tuple(map(self._broker_epoch, in_sync)),
        )
        self._cluster.alter_in_sync(self._partition, self.proposal)

    def _commit(self, decided: LeaderAndIsr) -> None:
        partition, leadership = self._partition, self._partition.leadership
        if (
            decided.leader_epoch != leadership.epoch
            or decided.partition_epoch < leadership.replicas.partition_epoch
        ):
            return  # of another time
        self.proposal = None
        partition.use_in_sync(decided.in_sync, decided.partition_epoch)
        self.look_again()

    def _broker_epoch(self, broker_id: int) -> int:
        """That of the start of a broker which has what we know of it."""
        follower = self.followers.get(broker_id)
        return ANY_BROKER_EPOCH if follower is None else follower.broker_epoch

    def look_again(self) -> None:
        """Raise the high watermark: what held it back may be over, without a fetch."""
        if self._partition.raise_high_watermark():
            self._partition.check_all_waiting()

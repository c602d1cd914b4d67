"""What a follower says with a fetch: which copies it holds, and how far each is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from odradek.broker.replica.partition.replication import Replication
from odradek.protocol.errors import ErrorCode
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.broker.replica.partition.fetch_reader import (
        FetchResult,
        PartitionFetch,
    )
    from odradek.broker.replica.waiting.follower_reads import FollowerReads
    from odradek.broker.requests.services import Services
    from odradek.protocol.messages.fetch import FetchPartition

# So much is on its way long enough.
GATHERED_SIZE: Final = 64 << 10


class FollowerFetch:
    """One fetch of the broker ``broker_id``."""

    __slots__ = (
        "_acknowledged_count",
        "_broker_epoch",
        "_log_starts",
        "_services",
        "broker_id",
    )

    def __init__(self, services: Services, broker_id: int, broker_epoch: int) -> None:
        self._services = services
        self.broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._acknowledged_count = 0
        self._log_starts: dict[tuple[str, int], int] = {}

    def take(self, topic: str, wanted: FetchPartition) -> ErrorCode:
        """A partition that it names. Who asks so may hold no copy of ours."""
        self._log_starts[topic, wanted.partition] = wanted.log_start_offset
        topic_partition = TopicPartition(topic, wanted.partition)
        if self._services.metadata.partition(topic_partition) is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        partition = self._services.replica_manager.partition(topic_partition)
        replication = partition.replication
        if not partition.leadership.replicas.is_leader or (
            isinstance(replication, Replication)
            and self.broker_id in replication.followers
        ):
            return ErrorCode.NONE  # what is wrong with the epoch, the read will say
        if wanted.current_leader_epoch >= 0:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        return ErrorCode.NOT_LEADER_OR_FOLLOWER

    def note(
        self, wanted: Sequence[PartitionFetch], results: Sequence[FetchResult]
    ) -> None:
        """It has everything below what it asks for.

        While the disk was read, the partition may have been deleted, or have got
        another leader epoch: that says nothing of this one.
        """
        broker_id, broker_epoch = self.broker_id, self._broker_epoch
        replica_manager = self._services.replica_manager
        partitions, produces = replica_manager.asked_for, replica_manager.produces
        waiting_count = produces.delayed_count
        for each, result in zip(wanted, results, strict=True):
            partition = partitions.get(each.topic_partition)
            if (
                result.error_code
                or result.diverging_epoch is not None
                or partition is None
                or not isinstance(partition.replication, Replication)
                or each.current_leader_epoch not in (-1, partition.leadership.epoch)
            ):
                continue
            follower = partition.replication.followers.get(broker_id)
            if follower is not None:
                log_start = self._log_starts.get(each.topic_partition)
                partition.replication.note_fetch(
                    follower,
                    result.offset_metadata,
                    follower.log_start_offset if log_start is None else log_start,
                    broker_epoch,
                )
        self._acknowledged_count = waiting_count - produces.delayed_count

    def may_wait_in(self, reads: FollowerReads, min_bytes: int) -> bool:
        """Whether any record is enough for it, and nothing is held back."""
        cluster = self._services.cluster
        if min_bytes <= 1 and (
            cluster is None or not cluster.throttles.leader.is_exceeded
        ):
            return True
        reads.look_at_all_next()
        return False

    def gathers(self, reads: FollowerReads, size: int) -> bool:
        """Whether it waits a moment for those who were acknowledged by it."""
        return size < GATHERED_SIZE and reads.gathers(
            self._acknowledged_count, self._services.clock
        )

    def wait_max_ms(self, reads: FollowerReads, wanted_ms: int) -> int:
        """For how long it may wait: not long while it is to name one more."""
        return reads.wait_max_ms(self._services.clock.monotonic_ms(), wanted_ms)

    def changed(
        self, reads: FollowerReads, named: Sequence[PartitionFetch]
    ) -> list[PartitionFetch]:
        """What has changed, and what it names; nothing when all are to be looked at."""
        if reads.is_full_due(self._services.clock.monotonic_ms()):
            return []
        self._tell(reads, named)
        for each in named:
            reads.note_change(each.topic_partition)
        return reads.select()

    def look_at_all(
        self, reads: FollowerReads, wanted: Sequence[PartitionFetch]
    ) -> None:
        """All are looked at now, and from now on changes are told."""
        services = self._services
        lag_max_ms = services.config.replica_lag_time_max_ms
        reads.look_at_all(services.clock.monotonic_ms(), lag_max_ms)
        others = services.replica_manager.cluster
        if others is not None:
            others.reads[self.broker_id].add(reads)
        self._tell(reads, wanted)

    def keep(
        self,
        reads: FollowerReads,
        wanted: Sequence[PartitionFetch],
        results: Sequence[FetchResult],
    ) -> None:
        """These results are told; records for which there was no room are not."""
        reads.keep(wanted, results, self._services.replica_manager.asked_for.get)

    def _tell(self, reads: FollowerReads, wanted: Sequence[PartitionFetch]) -> None:
        """Have changes of these told to the session that it reads them by."""
        partitions = self._services.replica_manager.asked_for
        for each in wanted:
            partition = partitions.get(each.topic_partition)
            if partition is not None and isinstance(partition.replication, Replication):
                follower = partition.replication.followers.get(self.broker_id)
                if follower is not None:
                    follower.reads = reads
            reads.note_named(each.topic_partition)

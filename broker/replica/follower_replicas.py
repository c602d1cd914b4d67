"""Partitions that another broker of the cluster leads, and this one has a copy of.

Invariant: with durability=commit a leader is told of no offset below which anything is
not durable here. It takes what it is told for ours, and lets clients know.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from odradek.protocol.errors import NotLeaderOrFollower
from odradek.storage.files.files import StorageFailure

from .following import Copies, fail_directory
from .partition.followed import Followed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from odradek.broker.metadata.topics import Topics
    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.storage.directory.log_manager import LogManager
    from odradek.storage.log.unified_log import UnifiedLog

    from .partition.partition import Partition
    from .replica_manager import ReplicaManager

_logger = logging.getLogger(__name__)


class FollowerReplicas(Copies):
    """What following a leader does to a partition."""

    def __init__(
        self,
        replica_manager: ReplicaManager,
        log_manager: LogManager,
        topics: Topics,
        clock: Clock,
    ) -> None:
        super().__init__(replica_manager, log_manager, clock)
        self._topics = topics

    def check(self, partition: Partition) -> None:
        """See that somebody else leads.

        Raises:
            KafkaError: nobody does, or it cannot be used.
        """
        leadership = partition.leadership
        leadership.check_replica()
        if leadership.replicas.is_leader:
            raise NotLeaderOrFollower("it is led here")

    def epoch_max(self, partition: Partition) -> int | None:
        """The epoch we follow: what a later leader wrote, that one has to send."""
        return partition.leadership.epoch

    def is_unopened(self, partition: Partition) -> bool:
        """Whether its log is on the disk and was not read yet."""
        return partition.topic_partition in self._replica_manager.unopened_logs

    async def open(self, partition: Partition) -> None:
        """Open its log, and cut what no leader could vouch for.

        Raises:
            KafkaError: it cannot be used.
        """
        await self._replica_manager.open([partition.topic_partition])
        self._begin_anew_if_gone(partition)
        self.check(partition)
        log = partition.log
        if log is None or log.latest_epoch >= 0:
            return
        if log.log_end_offset > log.high_watermark:
            await self.cut(partition, lambda found, now_ms: found.begin(now_ms))

    def _begin_anew_if_gone(self, partition: Partition) -> None:
        """Records were here, and their directory is gone: the leader has them.

        The controllers know: this broker has named no epoch when it registered, so it
        is not in sync before it has all of them again.
        """
        place = partition.topic_partition
        if place in self._topics.offline and self._is_gone(place):
            self._topics.offline.discard(place)
            partition.leadership.refusal = None
            _logger.warning(
                "%s: its directory is gone, all of it is taken from its leader", place
            )

    def _is_gone(self, place: TopicPartition) -> bool:
        """Whether it is nowhere: not in a directory that is left out, either."""
        directories = self._log_manager.directories
        if self._log_manager.has_directory(place):
            return False
        info = self._topics.partition(place)
        home = None if info is None else info.log_dir
        return directories.all_usable or any(
            str(each.path) == home and each.failure is None for each in directories
        )

    @property
    def syncs_first(self) -> bool:
        """Whether no leader is told of what is not on the disk."""
        return self._replica_manager.bounds_by_durability

    async def sync(self, partitions: Sequence[Partition]) -> None:
        """Make durable what they have, where it has to be; see `may_be_told`.

        Of a topic with ``flush.messages`` or ``flush.ms`` that is due here as at a
        leader, whatever the durability: Apache Kafka's followers do not tell before.
        """
        if not self._replica_manager.bounds_by_durability:
            now_ms = self._clock.now_ms()
            await _flush(
                each
                for each in partitions
                if each.has_flush_options and each.must_sync_now(now_ms)
            )
            return
        await _flush(partitions)
        unwritten = [each for each in partitions if not each.is_written and each.log]
        for each in unwritten:
            if each.log and not each.log.unflushed_count and not _is_empty(each.log):
                # Also one that was killed behind its first sync, and is loaded now.
                self._replica_manager.record_written(each)
        if unwritten:
            await self._replica_manager.recorded()

    def may_be_told(self, partition: Partition) -> bool:
        """Whether a leader may know how far it is: all is as durable as wanted."""
        log = partition.log
        if log is None or not self._replica_manager.bounds_by_durability:
            return True
        return not log.unflushed_count and (_is_empty(log) or partition.is_written)

    def take_usual(
        self,
        partition: Partition,
        batch: memoryview | None,
        high_watermark: int,
        log_start_offset: int,
    ) -> bool:
        """Append one batch, and follow the leader's high watermark and log start.

        False, and nothing was done, where there is anything special about any of it:
        then it is for `append` and those after it.

        Raises:
            KafkaError: as `append`.
        """
        leadership, replication = partition.leadership, partition.replication
        log, manager = partition.view.log, self._replica_manager
        now_ms, free_space = self._clock.now_ms(), manager.appends.free_space
        free_space.sample_if_due(now_ms)
        if (
            log is None
            or not isinstance(replication, Followed)
            or leadership.refusal is not None
            or leadership.is_elsewhere
            or leadership.replicas.is_leader
            or free_space.low_directories
            or log_start_offset > log.log_start_offset
        ):
            return False
        if batch is None:
            self.follow_high_watermark(partition, high_watermark)
            return True
        try:
            if not log.replica_appender.append_usual(batch, now_ms, leadership.epoch):
                return False
        except StorageFailure as error:
            fail_directory(partition, error)
            raise
        partition.append_count += 1
        if not partition.is_dirty or partition.log_end_fetch_count:
            partition.follow_append(log, now_ms)
        replication.high_watermark = high_watermark
        manager.checkpointer.note_append(len(batch))
        own = log.durable_end if manager.bounds_by_durability else log.local.end
        if log.visibility.raise_to(replication.replicated_end(own)):
            manager.check_all_waiting(partition)
        return True

    def follow_high_watermark(self, partition: Partition, offset: int) -> None:
        """The leader says that all copies hold what is below."""
        if isinstance(partition.replication, Followed):
            partition.replication.high_watermark = offset
            if partition.raise_high_watermark():
                partition.check_all_waiting()


async def _flush(partitions: Iterable[Partition]) -> None:
    committers = {
        each.committer
        for each in partitions
        if each.committer is not None and each.log and each.log.unflushed_count
    }
    for committer in committers:
        with suppress(StorageFailure):  # reported when it happened
            await committer.flush()


def _is_empty(log: UnifiedLog) -> bool:
    return log.log_end_offset == log.log_start_offset

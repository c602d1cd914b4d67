"""Partitions that follow others: batches are appended as they are there.

A mirror's copy of another cluster does what a follower does with its leader's answers,
but reads as a consumer: the other cluster shows what is committed there and nothing
else, so all of it may be read here as soon as it is as durable as `durability` asks
for.

Invariant: while a copy is cut nobody writes older checkpoints over those of the cut.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING

from odradek.protocol.errors import NotLeaderOrFollower
from odradek.storage.files.files import StorageFailure
from odradek.storage.local.watermarks import LogStartReason
from odradek.storage.log.follower_log import FollowerLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.metadata.topics import Topics
    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.storage.directory.log_manager import LogManager
    from odradek.storage.files.files import Buffer
    from odradek.storage.log.unified_log import UnifiedLog
    from odradek.storage.producers.append_info import AppendInfo

    from .partition.partition import Partition
    from .replica_manager import ReplicaManager


class Copies(ABC):
    """Appends to copies of what others lead, and cuts them."""

    def __init__(
        self,
        replica_manager: ReplicaManager,
        log_manager: LogManager,
        clock: Clock,
    ) -> None:
        self._replica_manager = replica_manager
        self._log_manager = log_manager
        self._clock = clock

    @abstractmethod
    def check(self, partition: Partition) -> None:
        """See that it is a copy.

        Raises:
            KafkaError: it is none, or cannot be used.
        """

    @abstractmethod
    def epoch_max(self, partition: Partition) -> int | None:
        """The last leader epoch whose batches are taken; None: of any."""

    def append(self, partition: Partition, batches: Buffer) -> AppendInfo:
        """Append batches that follow the log end, gaps allowed. Not durable on return.

        Raises:
            CorruptMessage: to be fetched again.
            OffsetsOutOfOrder, UnexpectedAppendOffset: the other side contradicts
                itself.
            DiskFull: nothing was written; it may be tried again.
            KafkaError: the log cannot take them.
        """
        self.check(partition)
        appends = self._replica_manager.appends
        now_ms = self._clock.now_ms()
        appends.free_space.sample_if_due(now_ms)
        if appends.free_space.low_directories:
            appends.check_room(partition)
        log = self._log(partition)
        try:
            info = self.follower(log).append(batches, now_ms, self.epoch_max(partition))
        except StorageFailure as error:
            fail_directory(partition, error)
            raise
        if info.last_offset >= 0:
            partition.append_count += 1
            partition.follow_append(log, now_ms)
            self._replica_manager.checkpointer.note_append(info.size)
        return info

    def raise_log_start(self, partition: Partition, offset: int) -> None:
        """Begin where the other log begins, as far as what follows is visible here."""
        log = partition.log
        if log is not None:
            offset = min(offset, log.high_watermark)
            if offset > log.log_start_offset:
                log.increment_log_start(offset, LogStartReason.LEADER_OFFSET_INCREMENT)

    async def cut(
        self, partition: Partition, act: Callable[[FollowerLog, int], object]
    ) -> None:
        """Have ``act`` cut the log; it is given the time as well.

        Raises:
            KafkaError: the disk fails, and the log has failed then; or it has no room
                for that, and nothing was cut.
        """
        await self._replica_manager.checkpointer.close()  # no round is under way
        self.check(partition)
        log, now_ms = self._log(partition), self._clock.now_ms()
        try:
            act(self.follower(log), now_ms)
        except StorageFailure as error:
            fail_directory(partition, error)
            raise
        removed = log.truncation.take_removed_segments()
        self._log_manager.remove_later(log, removed, now_ms)
        partition.check_all_waiting()

    def _log(self, partition: Partition) -> UnifiedLog:
        if partition.log is None or not partition.is_written:
            return self._replica_manager.begin_log(partition)
        return partition.log

    def follower(self, log: UnifiedLog) -> FollowerLog:
        """The log, as one who follows changes it."""
        return FollowerLog(log, partial(self._write_checkpoints, log))

    def _write_checkpoints(self, log: UnifiedLog) -> None:
        # Of that directory, on the loop: mostly what was written last is below the cut.
        home = self._log_manager.directories.homes[log.topic_partition]
        if not home.checkpoints.are_below(log):
            self._log_manager.checkpoint_job(home)()


def fail_directory(partition: Partition, error: StorageFailure) -> None:
    """Nothing more is written to the directory that the partition is in."""
    if partition.committer is not None:
        partition.committer.fail(error)


class Following(Copies):
    """Copies of another cluster, and how they become partitions like all others."""

    def __init__(
        self,
        topics: Topics,
        replica_manager: ReplicaManager,
        log_manager: LogManager,
        clock: Clock,
    ) -> None:
        super().__init__(replica_manager, log_manager, clock)
        self._topics = topics

    async def copy(self, topic_partition: TopicPartition) -> Partition:
        """The partition, its log open; it takes no other writes from now on.

        Raises:
            KafkaError: it cannot be served.
        """
        await self._replica_manager.open([topic_partition])
        partition = self._replica_manager.partition(topic_partition)
        partition.leadership.check()
        if partition.topic_id not in self._topics.mirrored:
            raise NotLeaderOrFollower("it is a copy no longer")
        if not partition.leadership.is_read_only:
            partition.leadership.set_read_only(
                True, partition.config.min_insync_replicas
            )
        return partition

    def check(self, partition: Partition) -> None:
        """See that it is a copy.

        Raises:
            KafkaError: it is none, or cannot be used.
        """
        partition.leadership.check()
        if not partition.leadership.is_read_only:
            raise NotLeaderOrFollower("it is a copy no longer")

    def epoch_max(self, partition: Partition) -> int | None:
        """None: epochs are those of the other cluster."""
        return None

    def release(self, partition: Partition, epoch: int) -> None:
        """Let it be a copy no longer: what follows is ours, in this leader epoch."""
        leadership, log = partition.leadership, partition.log
        leadership.set_read_only(False, partition.config.min_insync_replicas)
        leadership.begin_epoch(epoch, partition.view.log_end_offset)
        if log is not None:
            log.assign_epoch(epoch)

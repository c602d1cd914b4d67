"""A partition that this broker serves: its log, its epoch, its high watermark.

The log is opened or created when it is first needed; until then a partition that
was never written ends at offset 0 and has no files.

Invariants: with durability=commit the high watermark is at most the durable offset
of the log, else it is the log's end. It rises before the operations that wait for
it are looked at, and not before the catalogue says that the partition is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from protocol.errors import (
    ErrorCode,
    FencedLeaderEpoch,
    KafkaError,
    NotEnoughReplicas,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    UnknownLeaderEpoch,
)
from storage.log_config import UNLIMITED
from storage.log_read import FetchedData, FetchIsolation, TimestampOffset
from storage.offset_lookup import EARLIEST, EARLIEST_LOCAL
from storage.offset_metadata import OffsetMetadata

if TYPE_CHECKING:
    from protocol.topic_partition import TopicPartition
    from storage.append_info import AppendInfo, AppendOrigin
    from storage.files import Buffer
    from storage.log_config import LogConfig
    from storage.unified_log import UnifiedLog

    from ..committer import DirectoryCommitter
    from .replica_state import ReplicaState

ACKS_ALL = -1
NO_TIMESTAMP = -1
NO_EPOCH = -1

# Before the first segment: what is appended first will lie behind it.
_BEGINNING = OffsetMetadata(0, 0, 0)


class PartitionHost(Protocol):
    """What a partition asks of the replica manager."""

    bounds_by_durability: bool

    def create_log(self, partition: Partition) -> UnifiedLog:
        """Make the log of a partition that was never written."""

    def record_written(self, partition: Partition) -> None:
        """See that the catalogue knows, then call ``on_written``."""

    def check_waiting(self, partition: Partition) -> None:
        """The high watermark or the durable offset moved, or something is over."""

    def check_log_end_fetches(self, partition: Partition) -> None:
        """The log end moved."""

    def sync_within(self, partition: Partition, delay_ms: int) -> None:
        """Sync the partition in ``delay_ms`` at the latest."""


class Partition:
    """One partition. Used by the loop's thread alone."""

    __slots__ = (
        "_first_dirty_ms",
        "_has_enough_in_sync",
        "_host",
        "_is_dirty",
        "committer",
        "config",
        "has_flush_options",
        "is_internal",
        "is_written",
        "leader_epoch",
        "log",
        "log_end_fetch_count",
        "refusal",
        "replicas",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        topic_id: bytes,
        leader_epoch: int,
        config: LogConfig,
        replicas: ReplicaState,
        host: PartitionHost,
    ) -> None:
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.leader_epoch = leader_epoch
        self.replicas = replicas
        self.log: UnifiedLog | None = None
        self.committer: DirectoryCommitter | None = None
        self.refusal: KafkaError | None = None
        self.is_internal = False
        self.is_written = False
        self.log_end_fetch_count = 0
        self._host = host
        self._is_dirty = False
        self._first_dirty_ms = 0
        self.update_config(config)

    def __repr__(self) -> str:
        return f"Partition({self.topic_partition}, epoch {self.leader_epoch})"

    # What it is made of

    def use_log(self, log: UnifiedLog, committer: DirectoryCommitter) -> None:
        """Serve ``log`` from now on; all of it is durable or none of it is there."""
        self.log = log
        self.committer = committer
        log.update_high_watermark(log.end_metadata)

    def update_config(self, config: LogConfig) -> None:
        """Follow the options of the topic."""
        self.config = config
        self.has_flush_options = (
            config.flush_messages != UNLIMITED or config.flush_ms != UNLIMITED
        )
        self._look_at_replicas()
        if self.log is not None:
            self.log.update_config(config)

    def update_replicas(self, replicas: ReplicaState) -> None:
        """Follow a change of the copies. Who waits for a leader is told."""
        self.replicas = replicas
        self._look_at_replicas()
        if not replicas.is_leader:
            self._host.check_waiting(self)

    def refuse(self, error: KafkaError) -> None:
        """Serve nothing any more: the partition is deleted, or its files are gone."""
        self.refusal = error
        self._host.check_waiting(self)

    def _look_at_replicas(self) -> None:
        self._has_enough_in_sync = self.replicas.has_enough_in_sync(
            self.config.min_insync_replicas
        )

    # Append

    def append(
        self, batch: Buffer, acks: int, origin: AppendOrigin, now_ms: int
    ) -> AppendInfo:
        """Write one batch. Returns before it is durable.

        Raises:
            NotLeaderOrFollower, NotEnoughReplicas: nothing was written.
            KafkaError: what the log refuses.
        """
        if self.refusal is not None or not self.replicas.is_leader:
            self.check_leader()
        if acks == ACKS_ALL and not self._has_enough_in_sync:
            raise NotEnoughReplicas
        log = self.log
        if log is None:
            log = self._host.create_log(self)
        info = log.append_as_leader(batch, self.leader_epoch, now_ms, origin)
        if info.is_duplicate:
            return info
        if not self._is_dirty:
            self._become_dirty(now_ms)
        host = self._host
        if not host.bounds_by_durability:
            log.raise_high_watermark_to_end()
            host.check_waiting(self)
        elif self.log_end_fetch_count:
            host.check_log_end_fetches(self)
        return info

    def _become_dirty(self, now_ms: int) -> None:
        self._is_dirty = True
        self._first_dirty_ms = now_ms
        assert self.committer is not None
        self.committer.mark_dirty(self)
        if self.config.flush_ms != UNLIMITED:
            self._host.sync_within(self, self.config.flush_ms)

    def must_sync_now(self, now_ms: int) -> bool:
        """Whether ``flush.messages`` or ``flush.ms`` is reached. Begins the sync."""
        if not self._is_dirty or self.log is None:
            return False
        unsynced_count = self.log.log_end_offset - self.log.recovery_point
        if (
            unsynced_count < self.config.flush_messages
            and now_ms - self._first_dirty_ms < self.config.flush_ms
        ):
            return False
        assert self.committer is not None
        self.committer.request_sync(self)
        return True

    def acknowledgement(self, next_offset: int, must_be_durable: bool) -> int | None:
        """The error code, 0 for none, of an append up to ``next_offset``.

        None while it is open: the high watermark, or with ``must_be_durable`` the
        durable offset, has not passed it.
        """
        log = self.log
        if self.refusal is not None:
            return self.refusal.code
        if not self.replicas.is_leader or log is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        reached = log.recovery_point if must_be_durable else log.high_watermark
        if reached < next_offset:
            return ErrorCode.KAFKA_STORAGE_ERROR if log.is_failed else None
        if not must_be_durable and not self._has_enough_in_sync:
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return ErrorCode.NONE

    # Sync: called by the committer

    def begin_sync(self, with_snapshot: bool = False) -> Any:
        """The ticket of what is to be synced now; None when there is nothing."""
        self._is_dirty = False
        if self.log is None or self.refusal is not None:
            return None
        return self.log.begin_sync(with_snapshot)

    def finish_sync(self, ticket: Any) -> None:
        """What the ticket stands for is durable."""
        if self.log is not None:
            self.log.finish_sync(ticket)

    def on_durable(self) -> None:
        """The durable offset has moved."""
        if self.refusal is not None:
            return  # deleted; its name may be another topic's by now
        if not self.is_written:
            # The row goes in behind the files: a power cut between the two must
            # not leave a partition that is said to be written and has no directory.
            self._host.record_written(self)
            if self._host.bounds_by_durability:
                return
        self._follow_durable_offset()

    def on_written(self) -> None:
        """The catalogue has committed that this partition is written."""
        self.is_written = True
        self._follow_durable_offset()

    def fail(self, error: KafkaError) -> None:
        """Refuse writes for good; what is durable can still be read."""
        if self.log is not None:
            self.log.fail(error)
        self._host.check_waiting(self)

    def _follow_durable_offset(self) -> None:
        log = self.log
        if log is None or self.refusal is not None:
            return
        if self._host.bounds_by_durability:
            log.update_high_watermark(log.durable_end)
        self._host.check_waiting(self)

    # Read

    def check_leader(self, current_leader_epoch: int = NO_EPOCH) -> None:
        """See that this broker leads the partition, in the epoch the asker knows.

        Raises:
            FencedLeaderEpoch: the asker is behind.
            UnknownLeaderEpoch: the asker knows a later epoch than we do.
            NotLeaderOrFollower: somebody else leads.
            KafkaError: the partition is deleted or offline.
        """
        if self.refusal is not None:
            # A new one each time: a raised exception keeps its traceback for ever.
            raise type(self.refusal)(str(self.refusal))
        if current_leader_epoch != NO_EPOCH:
            if current_leader_epoch < self.leader_epoch:
                raise FencedLeaderEpoch
            if current_leader_epoch > self.leader_epoch:
                raise UnknownLeaderEpoch
        if not self.replicas.is_leader:
            raise NotLeaderOrFollower

    @property
    def log_start_offset(self) -> int:
        """The first offset that can be read."""
        return 0 if self.log is None else self.log.log_start_offset

    @property
    def high_watermark(self) -> int:
        """The offset up to which consumers see records."""
        return 0 if self.log is None else self.log.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """The offset up to which read_committed consumers see records."""
        return 0 if self.log is None else self.log.last_stable_offset

    @property
    def log_end_offset(self) -> int:
        """The offset of the next record."""
        return 0 if self.log is None else self.log.log_end_offset

    def offsets(self) -> tuple[int, int, int]:
        """The high watermark, the last stable offset and the log start together."""
        log = self.log
        if log is None:
            return 0, 0, 0
        return log.high_watermark, log.last_stable_offset, log.log_start_offset

    def end_offset(self, isolation: FetchIsolation) -> OffsetMetadata:
        """Up to where a reader of that isolation sees records."""
        return _BEGINNING if self.log is None else self.log.end_offset(isolation)

    def read(
        self,
        offset: int,
        size_max: int,
        isolation: FetchIsolation,
        min_one: bool,
        may_block: bool = False,
    ) -> FetchedData:
        """What the log holds from ``offset`` on.

        Raises:
            OffsetOutOfRange: the log has no such offset.
            ColdRead: the bytes are not in memory, and ``may_block`` is False.
        """
        if self.log is not None:
            return self.log.read(offset, size_max, isolation, min_one, may_block)
        if offset != 0:
            raise OffsetOutOfRange
        is_committed = isolation is FetchIsolation.TXN_COMMITTED
        return FetchedData(_BEGINNING, b"", aborted=[] if is_committed else None)

    def find_offset(
        self, timestamp: int, may_block: bool = False
    ) -> TimestampOffset | None:
        """The first record that is not earlier; see ``storage.offset_lookup``.

        Raises:
            ColdRead: the bytes are not in memory, and ``may_block`` is False.
        """
        if self.log is not None:
            return self.log.find_offset(timestamp, may_block)
        if timestamp in (EARLIEST, EARLIEST_LOCAL):
            return TimestampOffset(NO_TIMESTAMP, 0, self.leader_epoch)
        return None

    def epoch_end_offset(self, epoch: int) -> tuple[int, int]:
        """The largest epoch up to ``epoch``, and where it ended; -1, -1 if unknown."""
        if self.log is not None:
            return self.log.epoch_end_offset(epoch)
        if epoch > self.leader_epoch:
            return -1, -1
        return epoch, 0

    def diverging_epoch(self, offset: int, last_fetched_epoch: int) -> Any:
        """Where a reader's history ended to be ours: (epoch, end offset), or None.

        Raises:
            OffsetOutOfRange: the epoch is unknown, or ``offset`` is below the start.
        """
        epoch, end_offset = self.epoch_end_offset(last_fetched_epoch)
        if epoch == NO_EPOCH or offset < self.log_start_offset:
            raise OffsetOutOfRange
        if epoch < last_fetched_epoch or end_offset < offset:
            return epoch, end_offset
        return None

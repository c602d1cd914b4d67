"""The partitions of this broker: appends, reads, and the answers that wait.

Handlers and coordinators append and read through here. An operation is done when
it returns a value; when it returns a future the change is made and only the answer
waits; a coroutine waits for the disk first.
"""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from protocol.errors import (
    ErrorCode,
    InvalidTopic,
    KafkaError,
    KafkaStorageError,
    UnknownTopicOrPartition,
)
from protocol.topic_partition import TopicPartition
from storage.append_info import AppendOrigin
from storage.files import DiskFull, StorageFailure
from storage.log_validator import NotOneBatch

from ..committer import COMMIT
from ..config.topic_config import log_config
from .checkpointer import Checkpointer
from .delayed_produce import AppendResult, DelayedProduce, PendingAppend
from .fetch_executor import FetchExecutor
from .free_space import FreeSpace
from .log_opener import LogOpener
from .partition import ACKS_ALL, Partition
from .purgatory import Purgatory
from .replica_state import sole_replica
from .written_partitions import WrittenPartitions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from storage.files import Buffer
    from storage.log_manager import LogManager
    from storage.unified_log import UnifiedLog

    from ..clock import Clock
    from ..committer import Committer
    from ..config.broker_config import BrokerConfig
    from ..disk_threads import DiskThreads
    from ..metadata.topic import Topic
    from ..metadata.topics import Topics
    from .fetch_reader import FetchParams, FetchResult, PartitionFetch

AppendResults = dict[TopicPartition, AppendResult]

_ACKS = (0, 1, ACKS_ALL)
# NamedTuple's own constructor costs three times as much as the tuple.
_new = tuple.__new__
# Kafka tells the log start only where the batch itself was at fault (and was one).
_WITHOUT_LOG_START = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


class ReplicaManager:
    """All partitions, and the purgatories in which their answers wait."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        clock: Clock,
        topics: Topics,
        log_manager: LogManager,
        disk_threads: DiskThreads,
        committer: Committer,
    ) -> None:
        self.bounds_by_durability = config.durability == COMMIT
        self.produces: Purgatory[TopicPartition] = Purgatory(
            "Produce", clock, config.producer_purgatory_purge_interval_requests
        )
        self.fetches: Purgatory[TopicPartition] = Purgatory(
            "Fetch", clock, config.fetch_purgatory_purge_interval_requests
        )
        self._config = config
        self._clock = clock
        self._topics = topics
        self._log_manager = log_manager
        self._committer = committer
        self._partitions: dict[TopicPartition, Partition] = {}
        self._opener = LogOpener(topics, log_manager, disk_threads, clock)
        self.free_space = FreeSpace(config.log_dirs, config.log_min_free_bytes)
        self.checkpointer = Checkpointer(
            committer,
            log_manager,
            disk_threads,
            config.log_flush_offset_checkpoint_bytes,
        )
        self._written_partitions = WrittenPartitions(topics)
        self._fetch_executor = FetchExecutor(self.partition, self.fetches, disk_threads)
        committer.on_failure = self._on_directory_failure
        topics.watch_options(self._update_options)
        self._opener.find_unopened()

    # Partitions

    def partition(self, topic_partition: TopicPartition) -> Partition:
        """The partition. It refuses everything while it must be opened first.

        Raises:
            UnknownTopicOrPartition: the catalogue has no such one.
        """
        return self._partitions.get(topic_partition) or self._make(topic_partition)

    def unopened(
        self, topic_partitions: Iterable[TopicPartition]
    ) -> list[TopicPartition]:
        """Those whose logs are on disk and must be opened first; mostly none."""
        if not self._opener.unopened:
            return []
        return self._opener.select_unopened(topic_partitions)

    async def open(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Return once these can be used, or say in their answers why they cannot."""
        partitions = []
        for topic_partition in self.unopened(topic_partitions):
            try:
                partitions.append(self.partition(topic_partition))
            except UnknownTopicOrPartition:
                continue  # of no topic, until one of its name is made
        await self._opener.open(partitions, self._use_opened_log)

    async def open_all(self) -> None:
        """Open every log that is on disk, a few at a time: for the time after ready."""
        count = self._config.num_recovery_threads_per_data_dir
        unopened = iter(list(self._opener.unopened))
        while some := list(islice(unopened, count)):
            await self.open(some)

    async def stop(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Serve these no more: they are deleted. Who waits for them is told.

        When this returns nothing uses their logs but a sync that is under way.
        """
        stopped = list(topic_partitions)
        for topic_partition in stopped:
            gone = self._partitions.pop(topic_partition, None)
            if gone is not None:
                gone.refuse(UnknownTopicOrPartition())
        await self._opener.forget(stopped)

    async def close(self) -> None:
        """Answer everything that waits with what there is; nothing uses a log then."""
        await self._opener.close()
        self.produces.close()
        self.fetches.close()
        await self._written_partitions.recorded()
        await self.checkpointer.close()

    def _make(self, topic_partition: TopicPartition) -> Partition:
        topic = self._topics.get(topic_partition.topic)
        info = self._topics.partition(topic_partition)
        if topic is None or info is None:
            raise UnknownTopicOrPartition
        made = Partition(
            topic_partition,
            topic.topic_id,
            info.leader_epoch,
            log_config(topic.options, self._config),
            sole_replica(self._config.node_id),
            self,
        )
        made.is_internal = topic.is_internal
        made.is_written = info.written
        if self._log_manager.has_directory(topic_partition):
            made.refusal = KafkaStorageError(f"{topic_partition} is not open yet")
        elif info.written:
            made.refusal = KafkaStorageError(
                f"{topic_partition} was written, and its directory is gone"
            )
        self._partitions[topic_partition] = made
        return made

    def _use_opened_log(
        self, partition: Partition, log: UnifiedLog, leader_epoch: int
    ) -> None:
        if self._partitions.get(partition.topic_partition) is not partition:
            return  # deleted meanwhile; the log manager closes the log
        partition.leader_epoch = leader_epoch
        partition.refusal = None
        self._use_log(partition, log)

    def _use_log(self, partition: Partition, log: UnifiedLog) -> None:
        log.assign_epoch(partition.leader_epoch)
        committer = self._committer.for_directory(log.directory.parent)
        partition.use_log(log, committer)
        if committer.failure is not None:
            log.fail(committer.failure)

    def _update_options(self, topic: Topic) -> None:
        config = log_config(topic.options, self._config)
        for info in topic.partitions:
            known = self._partitions.get(TopicPartition(topic.name, info.partition))
            if known is not None:
                known.update_config(config)

    # Append

    def append_records(
        self,
        entries: Mapping[TopicPartition, Buffer],
        *,
        acks: int,
        timeout_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        internal_topics_allowed: bool = False,
        finish: Callable[[AppendResults], Any] | None = None,
    ) -> Any:
        """Append one batch to each partition; ``finish`` makes the answer of results.

        Returns the answer, or a future of it when ``acks`` or ``flush.messages``
        make it wait. What waits longer than ``timeout_ms`` is answered
        REQUEST_TIMED_OUT.
        """
        if finish is None:
            finish = _identity
        if acks not in _ACKS:
            refused = AppendResult(ErrorCode.INVALID_REQUIRED_ACKS)
            return finish(dict.fromkeys(entries, refused))
        now_ms = self._clock.now_ms()
        self.free_space.sample_if_due(now_ms)
        results: AppendResults = {}
        pending: dict[TopicPartition, PendingAppend] = {}
        is_client = origin is AppendOrigin.CLIENT
        for topic_partition, batch in entries.items():
            found = None
            try:
                found = self.partition(topic_partition)
                if is_client:
                    self._check_client(found, internal_topics_allowed)
                info = found.append(batch, acks, origin, now_ms)
            except KafkaError as error:
                results[topic_partition] = self._refused(found, error)
                continue
            self.checkpointer.note_append(info.size)
            next_offset = info.last_offset + 1
            must_sync = found.has_flush_options and found.must_sync_now(now_ms)
            error_code: int | None = 0
            if acks == ACKS_ALL or (must_sync and acks):
                error_code = found.acknowledgement(next_offset, must_sync)
                if error_code is None:
                    waits = _new(PendingAppend, (found, next_offset, must_sync))
                    pending[topic_partition] = waits
            results[topic_partition] = _new(
                AppendResult,
                (
                    error_code or 0,
                    info.base_offset,
                    info.log_append_time_ms,
                    info.log_start_offset,
                    next_offset,
                    None,
                    None,
                ),
            )
        if pending:
            return self._answer_later(results, pending, timeout_ms, finish)
        return finish(results)

    def _answer_later(
        self,
        results: AppendResults,
        pending: dict[TopicPartition, PendingAppend],
        timeout_ms: int,
        finish: Callable[[AppendResults], Any],
    ) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        delayed = DelayedProduce(results, pending, future, finish)
        self.produces.watch(delayed, pending, timeout_ms)
        return future

    def _check_client(self, found: Partition, internal_topics_allowed: bool) -> None:
        if found.is_internal and not internal_topics_allowed:
            raise InvalidTopic("the broker's own topics take no records from clients")
        low = self.free_space.low_directories
        if low and _directory_of(found, self._config) in low:
            raise DiskFull("less than log.min.free.bytes are left in the log directory")

    def _refused(self, found: Partition | None, error: KafkaError) -> AppendResult:
        if isinstance(error, StorageFailure) and found is not None:
            self._on_broken_device(found, error)
        log_start_offset = -1
        is_before_log = isinstance(error, NotOneBatch)
        if not (found is None or is_before_log or error.code in _WITHOUT_LOG_START):
            log_start_offset = found.log_start_offset
        return AppendResult(
            error.code,
            log_start_offset=log_start_offset,
            record_errors=getattr(error, "record_errors", None),
            message=_own_message(error),
        )

    # Read

    def fetch_records(
        self,
        params: FetchParams,
        wanted: Sequence[PartitionFetch],
        finish: Callable[[list[FetchResult]], Any] | None = None,
    ) -> Any:
        """Read; ``finish`` makes the answer of the results, in the order of ``wanted``.

        Returns the answer, a future of it while there is not enough to read, or a
        coroutine when bytes must come from the disk. No partition twice.
        """
        return self._fetch_executor.fetch(params, wanted, finish or _identity)

    # What partitions ask for (PartitionHost)

    def create_log(self, partition: Partition) -> UnifiedLog:
        """The log of a partition that was never written; makes its directory."""
        topic_partition = partition.topic_partition
        info = self._topics.partition(topic_partition)
        if info is None:
            raise UnknownTopicOrPartition
        log = self._log_manager.create(
            topic_partition,
            partition.topic_id,
            partition.config,
            info.log_dir,
            self._clock.now_ms(),
        )
        self._use_log(partition, log)
        return log

    def check_waiting(self, partition: Partition) -> None:
        """Look again at the answers that wait for this partition."""
        # Mostly nobody waits: that is asked of the purgatories without a call.
        if self.produces.watched_count:
            self.produces.check(partition.topic_partition)
        if self.fetches.watched_count:
            self.fetches.check(partition.topic_partition)

    def check_log_end_fetches(self, partition: Partition) -> None:
        """Look again at the fetches that wait for the log end of this partition."""
        self.fetches.check(partition.topic_partition)

    def sync_within(self, partition: Partition, delay_ms: int) -> None:
        """Sync the partition in ``delay_ms`` at the latest."""
        committer = partition.committer
        assert committer is not None
        self._clock.call_later(delay_ms, partial(committer.request_sync, partition))

    def record_written(self, partition: Partition) -> None:
        """Commit to the catalogue that the partition is written, then tell it."""
        self._written_partitions.add(partition)

    # Failures of the disk

    def _on_broken_device(self, found: Partition, error: StorageFailure) -> None:
        if found.committer is not None:
            found.committer.fail(error)

    def _on_directory_failure(self, directory: Path, error: StorageFailure) -> None:
        self._log_manager.fail_directory(directory, error)
        for each in list(self._partitions.values()):
            if each.committer is not None and each.committer.directory == directory:
                each.fail(error)


def _directory_of(found: Partition, config: BrokerConfig) -> Path:
    if found.committer is not None:
        return found.committer.directory
    return config.log_dirs[0]


def _own_message(error: KafkaError) -> str | None:
    """What the message says beyond the code; clients have the code's own text."""
    message = str(error)
    return None if message == type(error).default_message() else message


def _identity(results: Any) -> Any:
    return results

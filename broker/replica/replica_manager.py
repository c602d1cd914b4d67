"""The partitions of this broker: appends, reads, and the answers that wait.

Handlers and coordinators append and read through here. An operation is done when
it returns a value; when it returns a `Parked` the change is made and only the answer
waits; a coroutine waits for the disk first.
"""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from odradek.broker.config.topic_config import log_config
from odradek.broker.durability.committer import COMMIT
from odradek.protocol.errors import KafkaStorageError, UnknownTopicOrPartition
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.checkpoints import DirectoryFailure

from .appends import OF_A_CLIENT, Appends, AppendTerms
from .fetch_executor import FetchExecutor
from .logs.checkpointer import Checkpointer
from .logs.free_space import FreeSpace
from .logs.log_opener import LogOpener
from .logs.log_start_checkpointer import LogStartCheckpointer
from .logs.written_partitions import WrittenPartitions
from .partition.partition import Partition
from .partition.replica_state import sole_replica
from .partition.traffic import NO_TRAFFIC, Traffic, traffic_of
from .record_deletion import RecordDeletion
from .waiting.purgatories import purgatories_of
from .waiting.visible_end import VisibleEnds

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
    from pathlib import Path

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.durability.committer import Committer
    from odradek.broker.metadata.topic import Topic
    from odradek.broker.metadata.topics import Topics
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.disk_threads import DiskThreads
    from odradek.broker.runtime.memory.answer_memory import AnswerMemory
    from odradek.broker.runtime.parked import Parked, T
    from odradek.storage.directory.log_manager import LogManager
    from odradek.storage.files.files import Buffer, StorageFailure
    from odradek.storage.log.unified_log import UnifiedLog

    from .appends import AppendResults
    from .decisions import Decisions
    from .partition.fetch_reader import FetchParams, FetchResult, PartitionFetch
    from .partition.replication import Cluster
    from .waiting.delayed_delete_records import DeleteRecordsResult


class _Partitions(dict[TopicPartition, Partition]):
    """Those that were asked for; asking makes them."""

    def __init__(self, make: Callable[[TopicPartition], Partition]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, topic_partition: TopicPartition) -> Partition:
        return self._make(topic_partition)


class ReplicaManager:
    """All partitions, and the purgatories in which their answers wait."""

    def __init__(  # noqa: PLR0913 - the broker's parts, by their names
        self,
        *,
        config: BrokerConfig,
        clock: Clock,
        topics: Topics,
        log_manager: LogManager,
        disk_threads: DiskThreads,
        committer: Committer,
        answers: AnswerMemory,
    ) -> None:
        self.bounds_by_durability = config.durability == COMMIT
        self.cluster: Cluster | None = None  # there is no other broker
        self.decisions: Decisions | None = None  # nobody else decides who leads
        self.produces, self.fetches, self.deletions, self.share_fetches = (
            purgatories_of(config, clock)
        )
        self._config = config
        self._clock = clock
        self._topics = topics
        self._log_manager = log_manager
        self._committer = committer
        self._partitions = self.asked_for = _Partitions(self._make)
        self._opener = LogOpener(topics, log_manager, disk_threads, clock)
        # Mostly empty, and asked for by every produce: without a call.
        self.unopened_logs = self._opener.unopened
        self.checkpointer = Checkpointer(
            committer,
            log_manager,
            disk_threads,
            config.log_flush_offset_checkpoint_bytes,
        )
        self.appends = Appends(
            self._partitions,
            self.produces,
            config,
            clock,
            FreeSpace(config.log_dirs, config.log_min_free_bytes),
            self.checkpointer,
        )
        self.log_starts = LogStartCheckpointer(
            log_manager, committer, disk_threads, clock
        )
        self.visible_ends = VisibleEnds(self._partitions, clock, config)
        self._record_deletion = RecordDeletion(
            self._partitions, self.deletions, self.log_starts
        )
        self._written_partitions = WrittenPartitions(topics, clock)
        self.past_traffic = NO_TRAFFIC  # of partitions that were deleted
        self.fetch_executor = FetchExecutor(
            self._partitions.__getitem__, self.fetches, disk_threads, answers
        )
        committer.on_failure = self._on_directory_failure
        topics.watch_options(self._update_options)
        self._opener.find_unopened()

    # Partitions

    def partition(self, topic_partition: TopicPartition) -> Partition:
        """The partition. It refuses everything while it must be opened first.

        Raises:
            UnknownTopicOrPartition: the catalogue has no such one.
        """
        return self._partitions[topic_partition]

    def traffic(self, topic_partition: TopicPartition) -> Traffic:
        """What went through a partition since the start."""
        known = self._partitions.get(topic_partition)
        return NO_TRAFFIC if known is None else traffic_of(known)

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
        bug: Exception | None = None
        while some := list(islice(unopened, count)):
            try:
                await self.open(some)
            except Exception as error:  # the logs behind it are opened all the same
                bug = error
        self._opener.report()
        if bug is not None:
            raise bug

    async def stop(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Serve these no more: they are deleted. Who waits for them is told.

        When this returns nothing uses their logs but a sync that is under way.
        """
        stopped = list(topic_partitions)
        for topic_partition in stopped:
            gone = self._partitions.pop(topic_partition, None)
            if gone is not None:
                gone.refuse(UnknownTopicOrPartition())
                self.past_traffic = self.past_traffic.plus(traffic_of(gone))
        await self._opener.forget(stopped)

    async def close(self) -> None:
        """Answer everything that waits with what there is; nothing uses a log then."""
        await self._opener.close()
        self.produces.close()
        self.fetches.close()
        self.share_fetches.close()
        await self.log_starts.close()
        self.deletions.close()
        self.visible_ends.waiting.close()
        await self._written_partitions.close()
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
        if topic.topic_id in self._topics.mirrored:
            made.leadership.set_read_only(True, made.config.min_insync_replicas)
        if self._log_manager.has_directory(topic_partition):
            made.leadership.refusal = KafkaStorageError(
                f"{topic_partition} is not open yet"
            )
        elif info.written:
            made.leadership.refusal = KafkaStorageError(
                f"{topic_partition} was written, and its directory is gone"
            )
        self._partitions[topic_partition] = made
        if self.decisions is not None:
            self.decisions.begin(made)
        return made

    def _use_opened_log(
        self, partition: Partition, log: UnifiedLog, leader_epoch: int
    ) -> None:
        if self._partitions.get(partition.topic_partition) is not partition:
            return  # deleted meanwhile; the log manager closes the log
        partition.leadership.epoch = leader_epoch
        partition.leadership.refusal = None
        self._use_log(partition, log)

    def _use_log(self, partition: Partition, log: UnifiedLog) -> None:
        leadership = partition.leadership
        if leadership.replicas.is_leader and not leadership.is_read_only:
            # Else its epochs are in its batches.
            log.assign_epoch(leadership.epoch)
        committer = self._committer.for_directory(log.directory.parent)
        partition.use_log(log, committer)
        if partition.replication is not None:
            known = self._log_manager.checkpointed_high_watermark(log)
            log.visibility.restore(known)
            partition.raise_high_watermark()
        if committer.failure is not None:
            log.fail(committer.failure)

    def update_config(self, config: BrokerConfig) -> None:
        """Have every log follow the broker's options, where its topic sets none."""
        self._config = config
        for topic in self._topics:
            self._update_options(topic)

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
        terms: AppendTerms = OF_A_CLIENT,
        finish: Callable[[AppendResults], T] | None = None,
    ) -> T | Parked[T]:
        """Append one batch to each partition; ``finish`` makes the answer of results.

        Returns the answer, or a `Parked` one when ``acks`` or ``flush.messages``
        make it wait. What waits longer than ``timeout_ms`` is answered
        REQUEST_TIMED_OUT.
        """
        return self.appends.append(
            entries, acks, timeout_ms, finish or _identity, terms
        )

    def delete_records(
        self,
        offsets: Mapping[TopicPartition, int],
        timeout_ms: int,
        finish: Callable[[dict[TopicPartition, DeleteRecordsResult]], T] | None = None,
    ) -> T | Parked[T]:
        """Delete the records below ``offsets``, -1 for all that are replicated.

        ``finish`` makes the answer of results. Returns the answer, or a `Parked` one:
        nobody can read the records any more, but a crash might bring them back.
        """
        return self._record_deletion.delete(offsets, timeout_ms, finish or _identity)

    # Read

    def fetch_records(
        self,
        params: FetchParams,
        wanted: Sequence[PartitionFetch],
        finish: Callable[[Sequence[FetchResult]], T] | None = None,
    ) -> T | Parked[T] | Coroutine[Any, Any, T]:
        """Read; ``finish`` makes the answer of the results, in the order of ``wanted``.

        Returns the answer, a future of it while there is not enough to read, or a
        coroutine when bytes must come from the disk. No partition twice.
        """
        return self.fetch_executor.fetch(params, wanted, finish or _identity)

    # What partitions ask for (PartitionHost)

    def begin_log(self, partition: Partition) -> UnifiedLog:
        """The log of a partition of which the catalogue does not know it is written.

        Made with its directory, when there is none.

        Raises:
            DiskFull: there is no room for it, or none for what the catalogue is told.
        """
        self._written_partitions.check_room()
        if partition.log is not None:
            return partition.log
        topic_partition = partition.topic_partition
        info = self._topics.partition(topic_partition)
        if info is None:
            raise UnknownTopicOrPartition
        try:
            log = self._log_manager.create(
                topic_partition,
                partition.topic_id,
                partition.config,
                info.log_dir,
                self._clock.now_ms(),
            )
        except DirectoryFailure as error:
            self._committer.for_directory(error.directory).fail(error)
            raise
        self._use_log(partition, log)
        return log

    def check_waiting(self, partition: Partition) -> None:
        """Look again at the answers that wait for this partition."""
        # Mostly nobody waits: that is asked of the purgatories without a call.
        if self.produces.watched_count:
            self.produces.check(partition.topic_partition)
        if self.fetches.watched_count:
            self.fetches.check(partition.topic_partition)
        if self.share_fetches.watched_count:
            self.share_fetches.check(partition.topic_partition)

    def check_all_waiting(self, partition: Partition) -> None:
        """The same, and for who waits for records to be deleted, or to be seen."""
        self.check_waiting(partition)
        if self.deletions.watched_count:
            self.deletions.check(partition.topic_partition)
        if self.visible_ends.waiting.watched_count:
            self.visible_ends.waiting.check(partition.topic_partition)

    def check_log_end_fetches(self, partition: Partition) -> None:
        """Look again at the fetches that wait for the log end of this partition."""
        self.fetches.check(partition.topic_partition)

    def sync_within(self, partition: Partition, delay_ms: int) -> None:
        """Sync the partition in ``delay_ms`` at the latest."""
        committer = partition.committer
        assert committer is not None
        self._clock.call_later(delay_ms, partial(committer.request_sync, partition))

    @property
    def unrecorded(self) -> list[TopicPartition]:
        """The written partitions that wait until the catalogue has room for them."""
        return self._written_partitions.waiting

    async def recorded(self) -> None:
        """Return once the catalogue knows what is written and durable by now.

        Or once it has no room for that: then they are not ``is_written``.
        """
        await self._written_partitions.recorded()

    def record_written(self, partition: Partition) -> None:
        """Commit to the catalogue that the partition is written, then tell it."""
        self._written_partitions.add(partition)

    # Failures of the disk

    def _on_directory_failure(self, directory: Path, error: StorageFailure) -> None:
        self._log_manager.fail_directory(directory, error)
        for each in list(self._partitions.values()):
            if each.committer is not None and each.committer.directory == directory:
                each.fail(error)


def _identity(results: Any) -> Any:
    return results

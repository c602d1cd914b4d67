"""Opens logs that were on disk when the broker started, before they are served.

A log is loaded in a disk thread when it is first asked for. Its leader epoch is
the larger of the catalogue's and the newest in the log, one more after an unclean
stop: what a reader saw of the tail may be gone then. It is committed before the
partition is served, so no epoch is ever used for two histories.

A directory that is not that of the topic, but of another one of its name, is set
aside: kept under another name and reported.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from odradek.protocol.errors import InconsistentTopicId, KafkaError, KafkaStorageError
from odradek.storage.local.leader_epochs import NO_EPOCH

from .loaded_logs import LoadedLogs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from odradek.broker.metadata.topics import Topics
    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.disk_threads import DiskThreads
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.storage.directory.log_manager import LogManager
    from odradek.storage.log.unified_log import UnifiedLog

_logger = logging.getLogger(__name__)


class LogOpener:
    """The logs that are on disk and not open yet."""

    def __init__(
        self,
        topics: Topics,
        log_manager: LogManager,
        disk_threads: DiskThreads,
        clock: Clock,
    ) -> None:
        self.unopened: set[TopicPartition] = set()
        self._topics = topics
        self._log_manager = log_manager
        self._disk_threads = disk_threads
        self._clock = clock
        self._opening: dict[TopicPartition, asyncio.Task[None]] = {}
        self._strangers = topics.strangers
        self._loaded = LoadedLogs(clock)

    def find_unopened(self) -> None:
        """Note what is on disk; that of no topic is in the way if one is made."""
        self.unopened.update(self._log_manager.directories_of())

    def select_unopened(
        self, topic_partitions: Iterable[TopicPartition]
    ) -> list[TopicPartition]:
        """Those that must be opened before they are used."""
        unopened = self.unopened
        return [each for each in topic_partitions if each in unopened]

    async def open(
        self,
        partitions: Iterable[Partition],
        on_opened: Callable[[Partition, UnifiedLog, int], None],
    ) -> None:
        """Return once the logs are open, or refuse everything with the reason.

        ``on_opened(partition, log, leader_epoch)`` is called for each that is.
        """
        tasks = []
        for partition in partitions:
            topic_partition = partition.topic_partition
            if topic_partition not in self.unopened:
                continue
            task = self._opening.get(topic_partition)
            if task is None:
                task = self._opening[topic_partition] = asyncio.create_task(
                    self._open_one(partition, on_opened), name=f"open {topic_partition}"
                )
            tasks.append(task)
        if tasks:
            # A connection that closes must not stop what others wait for.
            await asyncio.shield(asyncio.gather(*tasks))

    def report(self) -> None:
        """Say what became of the logs that were on disk: all are open by now."""
        self._loaded.report()

    async def close(self) -> None:
        """Open nothing any more; return when nothing is being opened."""
        await self.forget(self.unopened | self._opening.keys())

    async def forget(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Open these no more; return when none of them is being opened."""
        topic_partitions = list(topic_partitions)
        self.unopened.difference_update(topic_partitions)
        tasks = [
            self._opening[each] for each in topic_partitions if each in self._opening
        ]
        if tasks:
            await asyncio.wait(tasks)

    async def _open_one(
        self,
        partition: Partition,
        on_opened: Callable[[Partition, UnifiedLog, int], None],
    ) -> None:
        topic_partition = partition.topic_partition
        try:
            if self._is_stranger(partition):
                await self._set_aside(partition)
                return
            log, elapsed_ms = await self._disk_threads.run(self._load, partition)
            self._log_manager.register(log)
            self._loaded.note(log, elapsed_ms)
            on_opened(partition, log, await self._begin_epoch(partition, log))
        except InconsistentTopicId as error:
            if partition.is_written:  # its records must be somewhere: touch nothing
                self._refuse(partition, error)
            else:
                await self._set_aside(partition)
        except (KafkaError, OSError) as error:
            self._refuse(partition, error)
        except Exception as error:  # a bug, recorded by who asked for the log
            self._refuse(partition, error)
            raise
        finally:
            self.unopened.discard(topic_partition)
            del self._opening[topic_partition]

    def _is_stranger(self, partition: Partition) -> bool:
        """Whether what is on disk was of no topic at the start, and is not of this one.

        Ids of a cluster are known to others: a catalogue that was lost comes again.
        """
        topic_partition = partition.topic_partition
        if topic_partition not in self._strangers:
            return False
        found = self._log_manager.topic_id_of(topic_partition)
        if self._topics.gives_leader_epochs or found != partition.topic_id:
            return True
        self._strangers.discard(topic_partition)
        return False

    def _load(self, partition: Partition) -> tuple[UnifiedLog, int]:
        """In a disk thread: the log, and how many milliseconds it took."""
        began_ms = self._clock.monotonic_ms()
        # Those that we give ourselves may be behind the log: it was restored, perhaps.
        is_alone = self._topics.gives_leader_epochs
        log = self._log_manager.load(
            partition.topic_partition,
            partition.topic_id,
            partition.config,
            self._clock.now_ms(),
            NO_EPOCH if is_alone else partition.leadership.epoch,
        )
        return log, self._clock.monotonic_ms() - began_ms

    async def _set_aside(self, partition: Partition) -> None:
        """Clear the way for the log of ``partition``."""
        topic_partition, leadership = partition.topic_partition, partition.leadership
        not_open = leadership.refusal
        try:
            self._log_manager.set_aside(topic_partition)
            self._strangers.discard(topic_partition)
            # They must not speak of the old log when the new one has its name.
            await self._disk_threads.run(self._log_manager.checkpoint_job())
        except KafkaStorageError as error:
            self._refuse(partition, error)
            return
        if leadership.refusal is not_open:  # else deleted meanwhile
            leadership.refusal = None

    async def _begin_epoch(self, partition: Partition, log: UnifiedLog) -> int:
        if not self._topics.gives_leader_epochs:
            return partition.leadership.epoch
        epoch = log.latest_epoch
        if not self._log_manager.was_clean:
            epoch += 1
        if epoch > partition.leadership.epoch:
            await self._topics.set_leader_epochs({partition.topic_partition: epoch})
            return epoch
        return partition.leadership.epoch

    def _refuse(self, partition: Partition, error: Exception) -> None:
        topic_partition = partition.topic_partition
        self._loaded.note_failed()
        why = str(error) or repr(error)
        _logger.error("%s cannot be opened: %s", topic_partition, why)
        partition.refuse(KafkaStorageError(f"{topic_partition}: {why}"))
        if self._topics.partition(topic_partition) is not None:
            self._topics.offline.add(topic_partition)

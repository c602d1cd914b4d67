"""What cannot be written at the moment for want of room, and who waits for some.

A directory is full from when a write was refused until a small file can be made in it
again, and some is free beside it. While nothing was refused nothing is tried.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from odradek.broker.replica.logs.free_space import free_bytes
from odradek.protocol.errors import KafkaError
from odradek.storage.directory.disk_reserve import has_room

from .phase import Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.metadata.topics import Topics
    from odradek.broker.replica.replica_manager import ReplicaManager
    from odradek.broker.runtime.disk_threads import DiskThreads
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.storage.files.files import Files

    from .runtime import CoordinatorRuntime

LOOK_INTERVAL_MS = 1_000
# With less, a usual batch of the largest size would be refused.
ROOM_BYTES_MIN = 1 << 20
_NAMES_MAX = 3

_logger = logging.getLogger(__name__)


class Shortage:
    """Looks which directories are full, and says what that keeps from being written."""

    def __init__(  # noqa: PLR0913 - the broker's parts, by their names
        self,
        *,
        config: BrokerConfig,
        topics: Topics,
        replica_manager: ReplicaManager,
        files: Files,
        disk_threads: DiskThreads,
        coordinators: Callable[[], Iterable[CoordinatorRuntime[Any]]],
        measure: Callable[[Path], int] = free_bytes,
    ) -> None:
        """``coordinators`` says which there are."""
        self.directories = tuple(
            dict.fromkeys((*config.log_dirs, config.catalog_directory))
        )
        self.full_directories: frozenset[Path] = frozenset()
        self._log_dirs = config.log_dirs
        self._topics = topics
        self._replica_manager = replica_manager
        self._files = files
        self._disk_threads = disk_threads
        self._runtimes = coordinators
        self._measure = measure
        self._seen_count = 0

    async def look(self) -> None:
        """Find out which directories are full. A periodic job."""
        count = self._replica_manager.appends.no_room_count
        count += self._topics.catalog_no_room_count
        if count == self._seen_count and not self.full_directories:
            return
        self._seen_count = count
        full = await self._disk_threads.run(self._find)
        for directory in sorted(full - self.full_directories):
            _logger.error("%s has no room: what is written to it is refused", directory)
        for directory in sorted(self.full_directories - full):
            _logger.warning("%s has room again", directory)
        self.full_directories = full

    def _find(self) -> frozenset[Path]:
        """In a disk thread."""
        return frozenset(
            directory
            for directory in self.directories
            if self._measure(directory) < ROOM_BYTES_MIN
            or not has_room(self._files, directory)
        )

    @property
    def unrecorded(self) -> list[TopicPartition]:
        """The partitions whose first records wait for room in the catalogue."""
        return self._replica_manager.unrecorded

    @property
    def coordinators(self) -> list[TopicPartition]:
        """The partitions of coordinators that can write nothing."""
        unrecorded = set(self.unrecorded)
        if not (unrecorded or self.full_directories):
            return []
        return [
            topic_partition
            for topic_partition in self._coordinators()
            if topic_partition in unrecorded or self._is_stuck(topic_partition)
        ]

    def _coordinators(self) -> Iterator[TopicPartition]:
        for runtime in self._runtimes():
            for shard in runtime.shards():
                if shard.phase is Phase.ACTIVE:
                    yield shard.topic_partition

    def _is_stuck(self, topic_partition: TopicPartition) -> bool:
        try:
            partition = self._replica_manager.partition(topic_partition)
        except KafkaError:
            return False  # its topic is being deleted
        if partition.committer is not None:
            return partition.committer.directory in self.full_directories
        # It would be made in one of them, and then recorded.
        is_first_waiting = bool(self.unrecorded)
        return is_first_waiting or self.full_directories.issuperset(self._log_dirs)

    def reasons(self) -> Iterator[str]:
        """What stands in the way of writes, a line each; nothing when nothing does."""
        for directory in sorted(self.full_directories):
            yield f"{directory} has no room: what is written to it is refused"
        for meaning, waiting in (
            ("wait for room in the catalogue", self.unrecorded),
            ("coordinators without room", self.coordinators),
        ):
            if waiting:
                names = ", ".join(map(str, waiting[:_NAMES_MAX]))
                more = len(waiting) - _NAMES_MAX
                yield f"{meaning}: {names}" + (f" and {more} more" if more > 0 else "")

"""Tells the catalogue, once for each partition, that it holds records.

From then on a partition whose directory is missing is offline, never empty. What
comes while a commit is under way goes into the next one.

A catalogue without room says "not yet": the partitions wait, and with them who waits
for their answers, until it has some. Only a catalogue that has failed fails them.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from odradek.protocol.errors import KafkaError
from odradek.storage.files.files import DiskFull

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.broker.metadata.topics import Topics
    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.runtime.clock import Clock, TimerHandle
    from odradek.protocol.topic_partition import TopicPartition

RETRY_MS = 500

_logger = logging.getLogger(__name__)


class WrittenPartitions:
    """The partitions whose first sync has ended and whose row is not committed."""

    def __init__(self, topics: Topics, clock: Clock) -> None:
        self._topics = topics
        self._clock = clock
        self._unrecorded: dict[TopicPartition, Partition] = {}
        self._task: asyncio.Task[None] | None = None
        self._retry: TimerHandle | None = None
        self._is_closed = False
        self._has_room = True  # when it was last asked

    @property
    def waiting(self) -> list[TopicPartition]:
        """Those that wait until the catalogue has room; mostly none."""
        return [] if self._has_room else list(self._unrecorded)

    def check_room(self) -> None:
        """See that the catalogue takes partitions that are written for the first time.

        Raises:
            DiskFull: some wait for that already.
        """
        if not self._has_room:
            raise DiskFull("the catalogue has no room for a new partition yet")

    def add(self, partition: Partition) -> None:
        """Commit the row of ``partition``, then call its ``on_written``."""
        self._unrecorded[partition.topic_partition] = partition
        if self._retry is None:
            self._begin()

    async def recorded(self) -> None:
        """Return once the catalogue knows all that was added, or has no room for it."""
        if self._retry is not None:
            self._begin()
        while self._task is not None:
            await asyncio.shield(self._task)

    async def close(self) -> None:
        """Ask for the last time: what is left the next start finds in its directory."""
        self._is_closed = True
        await self.recorded()

    def _begin(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(
                self._record_all(), name="record written partitions"
            )

    async def _record_all(self) -> None:
        has_room = True
        try:
            while self._unrecorded and has_room:
                has_room = await self._record(dict(self._unrecorded))
            self._note_room(has_room)
        finally:
            self._task = None
            if self._unrecorded and not self._is_closed:
                self._retry = self._clock.call_later(RETRY_MS, self._begin)

    def _note_room(self, has_room: bool) -> None:
        if self._has_room is has_room:
            return
        self._has_room = has_room
        if has_room:
            _logger.warning("no partition waits for room in the catalogue now")
        else:
            names = ", ".join(map(str, self._unrecorded))
            _logger.error("first records wait for room in the catalogue: %s", names)

    async def _record(self, batch: dict[TopicPartition, Partition]) -> bool:
        """Whether the catalogue has room. Those that it has taken are told."""
        by_directory: dict[str, dict[TopicPartition, Partition]] = {}
        for topic_partition, partition in batch.items():
            if partition.leadership.refusal is not None:
                self._forget([partition])
                continue  # deleted; its name may be another topic's by now
            assert partition.committer is not None
            directory = str(partition.committer.directory)
            by_directory.setdefault(directory, {})[topic_partition] = partition
        for directory, partitions in by_directory.items():
            try:
                await self._topics.mark_written(partitions, directory)
            except KafkaError as error:
                if self._topics.catalog_failure is None:
                    return False
                self._forget(partitions.values())
                for partition in partitions.values():
                    partition.fail(error)
            else:
                self._forget(partitions.values())
                for partition in partitions.values():
                    partition.on_written()
        return True

    def _forget(self, partitions: Iterable[Partition]) -> None:
        for each in partitions:
            # Else it is another one of that name, which was made meanwhile.
            if self._unrecorded.get(each.topic_partition) is each:
                del self._unrecorded[each.topic_partition]

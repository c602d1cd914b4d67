"""Tells the catalogue, once for each partition, that it holds records.

From then on a partition whose directory is missing is offline, never empty. What
comes while a commit is under way goes into the next one.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from protocol.errors import KafkaError

if TYPE_CHECKING:
    from protocol.topic_partition import TopicPartition

    from ..metadata.topics import Topics
    from .partition import Partition


class WrittenPartitions:
    """The partitions whose first sync has ended and whose row is not committed."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._unrecorded: dict[TopicPartition, Partition] = {}
        self._task: asyncio.Task[None] | None = None

    def add(self, partition: Partition) -> None:
        """Commit the row of ``partition``, then call its ``on_written``."""
        self._unrecorded[partition.topic_partition] = partition
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(
                self._record_all(), name="record written partitions"
            )

    async def recorded(self) -> None:
        """Return once the catalogue knows all that was added."""
        while self._task is not None:
            await asyncio.shield(self._task)

    async def _record_all(self) -> None:
        try:
            while self._unrecorded:
                batch, self._unrecorded = self._unrecorded, {}
                await self._record(batch)
        finally:
            self._task = None

    async def _record(self, batch: dict[TopicPartition, Partition]) -> None:
        by_directory: dict[str, dict[TopicPartition, Partition]] = {}
        for topic_partition, partition in batch.items():
            if partition.refusal is not None:
                continue  # deleted; its name may be another topic's by now
            assert partition.committer is not None
            directory = str(partition.committer.directory)
            by_directory.setdefault(directory, {})[topic_partition] = partition
        for directory, partitions in by_directory.items():
            try:
                await self._topics.mark_written(partitions, directory)
            except KafkaError as error:
                for partition in partitions.values():
                    partition.fail(error)
            else:
                for partition in partitions.values():
                    partition.on_written()

"""Logs that go: which directories are theirs, and what follows. Checkpoints say so, and
there is room for that.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from odradek.storage.files.files import DiskFull

if TYPE_CHECKING:
    from odradek.broker.runtime.disk_threads import DiskThreads
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.storage.directory.log_manager import LogManager


def has_directory_of(
    log_manager: LogManager, topic_partition: TopicPartition, topic_id: bytes
) -> bool:
    """Whether it has one that does not say that it is another topic's."""
    log = log_manager.get(topic_partition)
    if log is not None:
        return log.topic_id == topic_id
    return log_manager.has_directory(topic_partition) and (
        log_manager.topic_id_of(topic_partition) in (None, topic_id)
    )


async def write_checkpoints(log_manager: LogManager, disk_threads: DiskThreads) -> None:
    """They must not speak of the old log when a new one has its name.

    Writing them also makes the renaming durable.

    Raises:
        KafkaStorageError: they cannot be written: if there is one, `DirectoryFailure`.
    """
    try:
        await disk_threads.run(log_manager.checkpoint_job())
    except DiskFull:
        await make_room(log_manager, disk_threads)
        await disk_threads.run(log_manager.checkpoint_job())


async def make_room(log_manager: LogManager, disk_threads: DiskThreads) -> None:
    """Remove at once what is to be removed: who has logs go may want just that."""
    removal = log_manager.removal_job(sys.maxsize)
    if removal is not None:
        await disk_threads.run(removal)

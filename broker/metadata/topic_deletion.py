"""Deleting topics: the catalogue first, then the directories, the row last.

The order is what a crash needs. Once the row says ``deleting`` nobody sees the topic
any more, and the start finishes what it finds; a name is free again when its
directories have another one, so a new topic never meets the files of the old.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from protocol.errors import KafkaStorageError
from protocol.topic_partition import TopicPartition
from storage.files import DiskFull

if TYPE_CHECKING:
    from collections.abc import Iterable

    from storage.log_manager import LogManager

    from ..services import Services
    from .topics import Deletion, Topics

_logger = logging.getLogger(__name__)

REMOVAL_INTERVAL_MS = 5_000


async def delete_topics(services: Services, topic_ids: Iterable[bytes]) -> None:
    """Delete topics as far as clients can see; their files go later.

    Raises:
        KafkaStorageError: the catalogue cannot be written, and nothing happened; or
            a directory cannot be renamed, which the next start tries again.
    """
    topics = services.metadata
    for deletion in await topics.begin_deletions(topic_ids):
        partitions = _partitions(deletion)
        await services.replica_manager.stop(partitions)
        if _rename(services.log_manager, partitions):
            await _write_checkpoints(services)
        topics.release_name(deletion)
        _logger.info("topic %s is deleted", deletion.name)


async def _write_checkpoints(services: Services) -> None:
    """They must not speak of the old log when a new one has its name.

    Writing them also makes the renaming durable.
    """
    run, log_manager = services.disk_threads.run, services.log_manager
    try:
        await run(log_manager.checkpoint_job())
    except DiskFull:
        # Who deletes a topic may want just that room.
        await run(log_manager.remove_deleted)
        await run(log_manager.checkpoint_job())


def finish_interrupted(topics: Topics, log_manager: LogManager) -> None:
    """At the start: rename what a deletion before the last stop did not get to.

    Where a topic of the same name lives, the renaming was done: only then was the
    name free. Blocking.
    """
    renamed_count = 0
    for deletion in topics.deletions.values():
        if topics.get(deletion.name) is None:
            renamed_count += _rename(log_manager, _partitions(deletion))
    if renamed_count:
        log_manager.checkpoint_job()()
    for deletion in topics.deletions.values():
        topics.release_name(deletion)


async def remove_deleted(services: Services) -> None:
    """Remove the files of deleted topics, then forget these. A periodic job."""
    topics = services.metadata
    renamed = [
        deletion
        for deletion in topics.deletions.values()
        if not topics.is_reserved(deletion.name)
    ]
    if not renamed:
        return
    try:
        await services.disk_threads.run(services.log_manager.remove_deleted)
        await topics.finish_deletions(renamed)
    except KafkaStorageError as error:
        _logger.warning("deleted topics are not removed yet: %s", error)


def _partitions(deletion: Deletion) -> list[TopicPartition]:
    return [
        TopicPartition(deletion.name, number)
        for number in range(deletion.partition_count)
    ]


def _rename(log_manager: LogManager, partitions: Iterable[TopicPartition]) -> int:
    """Rename the directories that there are, and count them."""
    there = [each for each in partitions if log_manager.has_directory(each)]
    for partition in there:
        log_manager.delete(partition)
    return len(there)

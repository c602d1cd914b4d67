"""Deleting topics: the catalogue first, then the directories, the row last.

The order is what a crash needs. Once the row says ``deleting`` nobody sees the topic
any more, and the start finishes what it finds; a name is free again when its
directories have another one, so a new topic never meets the files of the old.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from odradek.broker.config.topic_config import log_config
from odradek.broker.metadata.topic_names import INTERNAL_TOPICS
from odradek.broker.replica.logs.gone_logs import (
    has_directory_of,
    make_room,
    write_checkpoints,
)
from odradek.protocol.errors import KafkaStorageError
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.checkpoints import DirectoryFailure
from odradek.storage.files.files import DiskFull

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from odradek.broker.metadata.topics import Deletion, Topics
    from odradek.broker.requests.services import Services
    from odradek.storage.directory.log_manager import LogManager

_logger = logging.getLogger(__name__)

DELETION_INTERVAL_MS = 5_000


async def delete_topics(services: Services, topic_ids: Iterable[bytes]) -> None:
    """Delete topics as far as clients can see; their files go later.

    Raises:
        KafkaStorageError: the catalogue cannot be written, and nothing happened; or
            a directory cannot be renamed, or offsets not be dropped, which is tried
            again now and then, and by the next start.
    """
    topics = services.metadata
    known = [topics.by_id(each) for each in topic_ids]
    delays = {
        topic.topic_id: log_config(topic.options, services.config).file_delete_delay_ms
        for topic in known
        if topic is not None
    }
    deletions = await topics.begin_deletions(delays)
    await _take_away(services, {each: delays[each.topic_id] for each in deletions})


async def _take_away(services: Services, delays_ms: Mapping[Deletion, int]) -> None:
    """Rename the directories of topics, and let their names be used again.

    What fails for one does not keep the others.
    """
    errors: list[KafkaStorageError] = []
    renamed: list[Deletion] = []
    with_directories = False
    for deletion, delay_ms in delays_ms.items():
        try:
            with_directories |= await _take_directories(services, deletion, delay_ms)
        except KafkaStorageError as error:
            errors.append(_interrupted(services, deletion, error))
        else:
            renamed.append(deletion)
    if with_directories:
        try:
            await write_checkpoints(services.log_manager, services.disk_threads)
        except KafkaStorageError as error:
            errors += [_interrupted(services, each, error) for each in renamed]
            renamed = []
    # With the coordinators' own topic goes what they know of the others.
    for deletion in sorted(renamed, key=lambda each: each.name not in INTERNAL_TOPICS):
        try:
            await _forget(services, deletion)
        except KafkaStorageError as error:
            errors.append(_interrupted(services, deletion, error))
    if errors:
        raise errors[-1]


def _interrupted(
    services: Services, deletion: Deletion, error: KafkaStorageError
) -> KafkaStorageError:
    """Note that it is to be gone on with later; returns ``error``."""
    services.metadata.interrupted_deletions.add(deletion.topic_id)
    if isinstance(error, DirectoryFailure):
        services.committer.for_directory(error.directory).fail(error)
    return error


async def _take_directories(
    services: Services, deletion: Deletion, delay_ms: int
) -> bool:
    """Rename the directories of a topic. Whether checkpoints speak of them."""
    partitions = _partitions(deletion)
    await services.replica_manager.stop(partitions)
    removal_ms = services.clock.now_ms() + delay_ms
    was_interrupted = deletion.topic_id in services.metadata.interrupted_deletions
    renamed_count = _rename(services.log_manager, deletion, removal_ms)
    others = list(filter(services.log_manager.has_directory, partitions))
    services.metadata.strangers.update(others)
    services.replica_manager.unopened_logs.update(others)
    return renamed_count > 0 or was_interrupted


async def _forget(services: Services, deletion: Deletion) -> None:
    await _forget_offsets(services, deletion)
    _forget_share_states(services, deletion)
    services.metadata.interrupted_deletions.discard(deletion.topic_id)
    services.transactions.forget_topic(deletion.name)
    services.metadata.release_name(deletion)
    _logger.info("topic %s is deleted", deletion.name)


async def _forget_offsets(services: Services, deletion: Deletion) -> None:
    """Else a new topic of this name would be read from where the old one was.

    Raises:
        DiskFull: there is no room for writing that they are gone.
    """
    if services.groups.forget_topic(deletion.name):
        return
    await make_room(services.log_manager, services.disk_threads)
    if not services.groups.forget_topic(deletion.name):
        raise DiskFull(f"offsets of {deletion.name} are not forgotten yet")


def _forget_share_states(services: Services, deletion: Deletion) -> bool:
    """What share groups did with it is of no use. Whether there was room for that.

    It has the topic's id: what stays for a while is taken for no other topic's.
    """
    share_states = services.share_states_in_use
    return share_states is None or share_states.forget_topic(
        deletion.name, deletion.topic_id
    )


def finish_interrupted(topics: Topics, log_manager: LogManager) -> None:
    """At the start: rename what a deletion before the last stop did not get to.

    Where a topic of the same name lives, the renaming was done: only then was the
    name free. Blocking.
    """
    renamed_count = 0
    log_manager.discard_copies(topics.deletions)
    for deletion in topics.deletions.values():
        if topics.get(deletion.name) is None:
            renamed_count += _rename(log_manager, deletion, removal_ms=0)
    if renamed_count:
        log_manager.checkpoint_job()()
    for deletion in topics.deletions.values():
        topics.release_name(deletion)


async def finish_deletions(services: Services) -> None:
    """Go on with what is being deleted; forget what is gone. A periodic job.

    A topic is forgotten last, when its files are removed. As long as a log directory
    is missing nobody knows whether they are.
    """
    topics, log_manager = services.metadata, services.log_manager
    if not topics.deletions or not log_manager.directories.all_usable:
        return
    if not _are_loaded(services):
        return  # their offsets would come back with the next start
    interrupted = [topics.deletions[each] for each in topics.interrupted_deletions]
    try:
        await _take_away(services, dict.fromkeys(interrupted, 0))
    except KafkaStorageError as error:
        _logger.warning("topics are not deleted yet: %s", error)
    try:
        unremoved = {each.topic for each in log_manager.unremoved_partitions}
        gone = [
            deletion
            for deletion in topics.deletions.values()
            if deletion.name not in unremoved
            and not topics.is_reserved(deletion.name)
            and services.groups.forget_topic(deletion.name, deletion.topic_id)
            and _forget_share_states(services, deletion)
        ]
        if gone:
            await topics.finish_deletions(gone)
    except KafkaStorageError as error:
        _logger.warning("topics are not deleted yet: %s", error)


def _are_loaded(services: Services) -> bool:
    share_states = services.share_states_in_use
    return services.groups.is_loaded and (
        share_states is None or share_states.is_loaded
    )


def _partitions(deletion: Deletion) -> list[TopicPartition]:
    return [
        TopicPartition(deletion.name, number)
        for number in range(deletion.partition_count)
    ]


def _rename(log_manager: LogManager, deletion: Deletion, removal_ms: int) -> int:
    """Rename the directories that there are, and count them.

    Those of another topic of that name stay: it may be about to be made.
    """
    there = [
        each
        for each in _partitions(deletion)
        if has_directory_of(log_manager, each, deletion.topic_id)
    ]
    for partition in there:
        log_manager.delete(partition, removal_ms)
    return len(there)

"""What is left here of partitions that other brokers hold now: it goes.

A log that stayed would be gone on with, should this broker become a replica again. By
its epochs it is a part of the leader's. But keys that were deleted meanwhile would be
there again, here alone: what deleted them, compaction has removed at the others.

The order is what a crash needs: the directory is renamed, checkpoints say nothing of it
any more, and only then the catalogue says that there is nothing. A start in between
finds a partition whose directory is gone, and takes all of it from its leader. What
finds no room is done once more from the start, which does no harm.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from odradek.broker.replica.logs.gone_logs import write_checkpoints
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.checkpoints import DirectoryFailure

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from odradek.broker.durability.committer import Committer
    from odradek.broker.metadata.topic import Topic
    from odradek.broker.metadata.topics import Topics
    from odradek.broker.replica.replica_manager import ReplicaManager
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.disk_threads import DiskThreads
    from odradek.storage.directory.log_manager import LogManager

_logger = logging.getLogger(__name__)


class GivenAway:
    """Takes away the logs of partitions of which this broker is no replica."""

    def __init__(
        self,
        topics: Topics,
        replica_manager: ReplicaManager,
        log_manager: LogManager,
        committer: Committer,
        disk_threads: DiskThreads,
        clock: Clock,
    ) -> None:
        self._topics = topics
        self._replica_manager = replica_manager
        self._log_manager = log_manager
        self._committer = committer
        self._disk_threads = disk_threads
        self._clock = clock

    async def take_away(
        self, partitions: Iterable[TopicPartition], *, keeps: bool
    ) -> None:
        """Take away what there is of them; nothing is served of them before.

        ``keeps``: the directories get another name and stay, for people to look at.
        Else their files go like those of a deleted topic. What is in a directory that
        fails is refused to everybody until the next start tries again.

        Raises:
            KafkaStorageError: there is no room to note that they are gone; until that
                is done, by another call, nothing of them can be used.
        """
        gone = [each for each in partitions if self._has_something(each)]
        if not gone:
            return
        delays_ms = {
            each: self._replica_manager.partition(each).config.file_delete_delay_ms
            for each in gone
        }
        await self._replica_manager.stop(gone)
        await self._replica_manager.recorded()  # what they have written till now
        homes = self._log_manager.directories_of()
        renamed = [
            each for each in gone if self._rename(each, delays_ms[each], keeps=keeps)
        ]
        failed = await self._write_checkpoints()
        # What was in a directory that has failed since may be there again.
        unsure = [
            each for each in renamed if each in homes and homes[each].parent in failed
        ]
        self._topics.offline.update(unsure)
        renamed = [each for each in renamed if each not in unsure]
        await self._topics.note_given_away(renamed)
        # Whoever has asked meanwhile has found one that cannot be used.
        await self._replica_manager.stop(renamed)

    async def _write_checkpoints(self) -> set[Path]:
        """In all directories that can be written; returns those that cannot."""
        failed: set[Path] = set()
        while True:
            try:
                await write_checkpoints(self._log_manager, self._disk_threads)
            except DirectoryFailure as error:
                if error.directory in failed:
                    raise
                failed.add(error.directory)  # it is left out from now on
                self._note(error, "logs that others have now are not wholly gone yet")
            else:
                return failed

    async def set_topics_aside(self, topics: Iterable[Topic]) -> list[Topic]:
        """Keep what is here of topics that the cluster does not have, at a start.

        They may have been deleted meanwhile, or the controllers have lost them. Returns
        those of which nothing is left, so that they can be deleted.

        Raises:
            KafkaStorageError: as `take_away`.
        """
        places = {each: _places(each) for each in topics}
        everything = [each for of in places.values() for each in of]
        had = {each.topic for each in everything if self._has_something(each)}
        if had:
            _logger.warning(
                "the cluster does not have these topics any more; what is here of them"
                " is kept in directories that end in -stray: %s",
                ", ".join(sorted(had)),
            )
        await self.take_away(everything, keeps=True)
        has = self._has_something
        return [each for each, of in places.items() if not any(map(has, of))]

    def _has_something(self, place: TopicPartition) -> bool:
        info, topic = self._topics.partition(place), self._topics.get(place.topic)
        if info is None or topic is None:
            return False
        if not self._log_manager.has_directory(place):
            return info.written
        found = self._log_manager.topic_id_of(place)
        if found is None:
            return place not in self._topics.strangers
        return found == topic.topic_id

    def _rename(self, place: TopicPartition, delay_ms: int, *, keeps: bool) -> bool:
        """Whether nothing is in the way of a new log of that name."""
        if not self._log_manager.has_directory(place):
            return True
        try:
            if keeps:
                self._log_manager.set_aside(place)
            else:
                removal_ms = self._clock.now_ms() + delay_ms
                self._log_manager.delete(place, removal_ms)
                _logger.info("%s is taken away: other brokers have it now", place)
        except DirectoryFailure as error:
            self._note(error, f"{place}, which others have now, stays")
            return False
        self._topics.strangers.discard(place)
        return True

    def _note(self, error: DirectoryFailure, what: str) -> None:
        _logger.error("%s: %s", what, error)
        self._committer.for_directory(error.directory).fail(error)


def _places(topic: Topic) -> list[TopicPartition]:
    return [TopicPartition(topic.name, each.partition) for each in topic.partitions]

"""Compaction of the logs that ask for it, the one with the most to gain first.

The loop decides what is to be cleaned and takes the new segments in; reading, mapping
and writing is done elsewhere (`cleaning_process`), on values. One round at a time.

Damage that a round finds is quarantined, and the round begun anew. A log that fails a
second time is left alone until the next start; the others go on.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from protocol.errors import KafkaError
from storage.batch_verification import DamagedBatch
from storage.cleaner.choice import find_cleanable, first_dirty_offset, plan_round
from storage.cleaner.plan import DamageFound
from storage.files import DiskFull, StorageFailure
from storage.mapped_index import CorruptIndex

if TYPE_CHECKING:
    from protocol.topic_partition import TopicPartition
    from storage.cleaner.choice import Cleanable
    from storage.cleaner.plan import CleanedSegment, RoundEnd
    from storage.log_manager import LogManager
    from storage.unified_log import UnifiedLog

    from ..cleaning_process import Cleaner
    from ..clock import Clock
    from ..committer import Committer
    from ..disk_threads import DiskThreads

_logger = logging.getLogger(__name__)


class Cleaning:
    """Rounds over the compacted logs of this broker."""

    def __init__(
        self,
        clock: Clock,
        log_manager: LogManager,
        committer: Committer,
        disk_threads: DiskThreads,
        cleaner: Cleaner,
        map_size: int,
    ) -> None:
        self.uncleanable: dict[TopicPartition, str] = {}
        """Logs that are left alone, and why."""
        self._clock = clock
        self._log_manager = log_manager
        self._committer = committer
        self._disk_threads = disk_threads
        self._cleaner = cleaner
        self._map_size = map_size
        self._is_closed = False

    def close(self) -> None:
        """Give up the round that runs, and begin none any more."""
        self._is_closed = True

    async def clean_due(self) -> None:
        """Clean every log that is due, one after the other. A periodic job."""
        done: set[UnifiedLog] = set()
        while not self._is_closed and (found := self._dirtiest(done)) is not None:
            log, cleanable = found
            done.add(log)
            await self._clean(log, cleanable)

    async def clean(self, topic_partition: TopicPartition) -> RoundEnd | None:
        """Clean a log now, however little there is to gain.

        None when there is nothing that may be cleaned, or it could not be.
        """
        log = self._log_manager.get(topic_partition)
        if log is None or topic_partition in self.uncleanable:
            return None
        cleanable = self._cleanable(log)
        return await self._clean(log, cleanable) if cleanable.dirty_size else None

    def _dirtiest(self, done: set[UnifiedLog]) -> tuple[UnifiedLog, Cleanable] | None:
        due = [
            (log, cleanable)
            for log in self._log_manager.logs()
            if log.config.is_compacted
            and log not in done
            and not log.is_failed
            and log.topic_partition not in self.uncleanable
            and (cleanable := self._cleanable(log)).is_due(
                log.config.min_cleanable_dirty_ratio
            )
        ]
        return max(due, key=lambda each: each[1].dirty_ratio, default=None)

    def _cleanable(self, log: UnifiedLog) -> Cleanable:
        checkpoint = self._log_manager.cleaner_checkpoint(log).get(log.topic_partition)
        first_dirty = first_dirty_offset(log, checkpoint)
        return find_cleanable(log, first_dirty, self._clock.now_ms())

    async def _clean(self, log: UnifiedLog, cleanable: Cleanable) -> RoundEnd | None:
        try:
            try:
                return await self._run(log, cleanable)
            except DamageFound as found:
                _quarantine(log, found)
                return await self._run(log, cleanable)
        except DiskFull as error:
            _logger.warning("%s is not cleaned yet: %s", log.topic_partition, error)
        except StorageFailure as error:
            self._committer.for_directory(log.directory.parent).fail(error)
        except (KafkaError, DamageFound, CorruptIndex, RuntimeError) as error:
            if self._is_current(log):
                self.uncleanable[log.topic_partition] = str(error)
                _logger.error(
                    "%s cannot be cleaned, and is left as it is: %s",
                    log.topic_partition,
                    error,
                )
        return None

    def _is_current(self, log: UnifiedLog) -> bool:
        return (
            not self._is_closed
            and not log.is_failed
            and self._log_manager.get(log.topic_partition) is log
        )

    async def _run(self, log: UnifiedLog, cleanable: Cleanable) -> RoundEnd | None:
        started_ms = self._clock.monotonic_ms()
        plan = plan_round(log, cleanable, self._clock.now_ms(), self._map_size)

        def take(cleaned: CleanedSegment) -> None:
            self._log_manager.replace_segments(log, cleaned, self._clock.now_ms())

        ended = await self._cleaner.clean(plan, take, lambda: self._is_current(log))
        if ended is None or not self._is_current(log):
            return None
        checkpoint = self._log_manager.cleaner_checkpoint(log)
        known = frozenset(self._log_manager.directories_of())
        await self._disk_threads.run(
            checkpoint.put, log.topic_partition, ended.next_dirty_offset, known
        )
        stats = ended.stats
        _logger.info(
            "%s is clean up to %d: %d of %d records are left, %d bytes of %d, in %d ms",
            log.topic_partition,
            ended.next_dirty_offset,
            stats.records_written,
            stats.records_read,
            stats.bytes_written,
            stats.bytes_read,
            self._clock.monotonic_ms() - started_ms,
        )
        return ended


def _quarantine(log: UnifiedLog, found: DamageFound) -> None:
    log.quarantine_damage(
        DamagedBatch(found.base_offset, found.position, "found by cleaning")
    )

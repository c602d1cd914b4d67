"""Compaction of the logs that ask for it, the one with the most to gain first.

The loop decides what is to be cleaned and takes the new segments in; reading, mapping
and writing is done elsewhere (`cleaning_process`), on values. As many rounds at a time
as the limits say, of one log never two.

Damage that a round finds is quarantined, and the round begun anew: a segment with
damage stays as it is, and is cleaned around. What fails for another reason is tried
once more; then the log is left alone until the next start, and the others go on.
"""

from __future__ import annotations

import asyncio
import logging
from enum import StrEnum
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from odradek.protocol.errors import KafkaError, KafkaStorageError
from odradek.storage.cleaner.choice import (
    find_cleanable,
    first_dirty_offset,
    plan_round,
)
from odradek.storage.cleaner.damage_examination import examination
from odradek.storage.cleaner.plan import DamageFound
from odradek.storage.cleaner.producer_ends import pack_ends
from odradek.storage.files.files import MISSING, DiskFull, StorageFailure
from odradek.storage.indexes.mapped_index import CorruptIndex
from odradek.storage.log.segment_replacement import SegmentReplacement
from odradek.storage.producers.table import PIECE_LENGTH

from .cleaning_gauges import CleaningGauges

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from odradek.broker.durability.committer import Committer
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.disk_threads import DiskThreads
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.storage.cleaner.choice import Cleanable
    from odradek.storage.cleaner.plan import CleanedSegment, CleaningPlan, RoundEnd
    from odradek.storage.directory.log_manager import LogManager
    from odradek.storage.log.unified_log import UnifiedLog

    from .cleaning_limits import CleaningLimits
    from .cleaning_process import Cleaner

_LOOKED_AT_AT_ONCE = 100  # logs; then others have their turn

# What a round may end with that is no bug of ours in this process.
_EXPECTED = (KafkaError, RuntimeError, DamageFound, CorruptIndex)

_logger = logging.getLogger(__name__)


class Obstacle(StrEnum):
    """Why a round came to nothing."""

    UNCLEANABLE = "uncleanable"
    NO_ROOM = "no-room"
    OFFLINE = "offline"
    GIVEN_UP = "given-up"


class NotCleaned(Exception):
    """A round came to nothing, and what was in its way."""

    def __init__(self, obstacle: Obstacle, reason: str) -> None:
        super().__init__(reason)
        self.obstacle = obstacle


class Cleaning:
    """Rounds over the compacted logs of this broker."""

    def __init__(
        self,
        clock: Clock,
        log_manager: LogManager,
        committer: Committer,
        disk_threads: DiskThreads,
        cleaner: Cleaner,
        limits: CleaningLimits,
    ) -> None:
        self.uncleanable: dict[TopicPartition, str] = {}
        """Logs that are left alone, and why."""
        self.gauges = CleaningGauges()
        self._clock = clock
        self._log_manager = log_manager
        self._committer = committer
        self._disk_threads = disk_threads
        self._cleaner = cleaner
        self.limits = limits
        self._is_closed = False
        self._rounds = asyncio.Semaphore(max(limits.rounds_max, 1))
        self._checkpoint_turn = asyncio.Lock()
        self._locks: WeakValueDictionary[TopicPartition, asyncio.Lock]
        self._locks = WeakValueDictionary()  # those that somebody has or waits for

    def limit(self, limits: CleaningLimits) -> None:
        """Take so much from the next round on."""
        self.limits = limits
        self._rounds = asyncio.Semaphore(max(limits.rounds_max, 1))

    def close(self) -> None:
        """Give up the rounds that run, and begin none any more."""
        self._is_closed = True

    async def clean_due(self) -> None:
        """Clean every log that is due, the dirtiest first. A periodic job."""
        done: set[UnifiedLog] = set()
        gauges = self.gauges
        gauges.last_look_ms = self._clock.monotonic_ms()
        try:
            async with asyncio.TaskGroup() as rounds:
                for _ in range(self.limits.rounds_max):
                    rounds.create_task(self._clean_each(done), name="cleaning")
        except Exception:
            gauges.dead_thread_count = 1
            raise
        gauges.dead_thread_count = 0

    @property
    def uncleanable_bytes(self) -> int:
        """What could be cleaned of the logs that are left alone."""
        logs = map(self._log_manager.get, list(self.uncleanable))
        found = (self._find(log) for log in logs if log is not None)
        return sum(each.dirty_size for each in found if each is not None)

    async def clean(self, topic_partition: TopicPartition) -> RoundEnd | None:
        """Clean a log now, however little there is to gain.

        None when there is nothing that may be cleaned, or it could not be.
        """
        log = self._log_manager.get(topic_partition)
        if log is None:
            return None
        try:
            return await self.run_round(log)
        except NotCleaned:  # was logged
            return None

    async def run_round(self, log: UnifiedLog) -> RoundEnd | None:
        """Clean what may be cleaned of a log, or as much as one round can.

        Waits until nobody else cleans it. None when there is nothing to be cleaned.

        Raises:
            NotCleaned: why not.
        """
        async with self.pause(log.topic_partition), self._rounds:
            self.check(log)
            if log.recovery_point < self.cleanable(log).end_offset:
                # A power cut must not take a record that has replaced another one.
                await self._committer.flush()
                self.check(log)
            cleanable = self.cleanable(log)
            return await self._clean(log, cleanable) if cleanable.dirty_size else None

    def cleanable(self, log: UnifiedLog) -> Cleanable:
        """What of a log may be cleaned now."""
        checkpoint = self._log_manager.cleaner_checkpoint(log).get(log.topic_partition)
        first_dirty = first_dirty_offset(log, checkpoint)
        return find_cleanable(log, first_dirty, self._clock.now_ms())

    async def _clean_each(self, done: set[UnifiedLog]) -> None:
        while (log := await self._dirtiest(done)) is not None:
            done.add(log)
            await self.clean(log.topic_partition)

    async def _dirtiest(self, done: set[UnifiedLog]) -> UnifiedLog | None:
        found = []
        for number, log in enumerate(self._log_manager.logs(), 1):
            if number % _LOOKED_AT_AT_ONCE == 0:
                await asyncio.sleep(0)
            if self._is_candidate(log) and (cleanable := self._find(log)) is not None:
                found.append((cleanable, log))
        if not done:
            ratios = (cleanable.dirty_ratio for cleanable, _ in found)
            self.gauges.max_dirty_percent = 100 * max(ratios, default=0.0)
        due = [
            (cleanable.dirty_ratio, log)
            for cleanable, log in found
            if cleanable.is_due(log.config.min_cleanable_dirty_ratio)
            and log not in done
            and self._is_candidate(log)
        ]
        return max(due, key=lambda each: each[0], default=(0, None))[1]

    def _find(self, log: UnifiedLog) -> Cleanable | None:
        """What may be cleaned. None where nobody can say: others are cleaned then."""
        try:
            return self.cleanable(log)
        except Exception as error:
            self._leave_alone(log, error)
            return None

    def _is_candidate(self, log: UnifiedLog) -> bool:
        return (
            log.config.is_compacted
            and self._is_current(log)
            and log.topic_partition not in self.uncleanable
            and not self._is_busy(log.topic_partition)
        )

    def pause(self, topic_partition: TopicPartition) -> asyncio.Lock:
        """Who holds this keeps rounds away from the log."""
        lock = self._locks.get(topic_partition) or asyncio.Lock()
        self._locks[topic_partition] = lock
        return lock

    def _is_busy(self, topic_partition: TopicPartition) -> bool:
        lock = self._locks.get(topic_partition)
        return lock is not None and lock.locked()

    def check(self, log: UnifiedLog) -> None:
        """Raises NotCleaned if no round can begin, or go on."""
        if self._is_closed:
            raise NotCleaned(Obstacle.GIVEN_UP, "the broker is stopping")
        if self._log_manager.get(log.topic_partition) is not log:
            raise NotCleaned(Obstacle.GIVEN_UP, "the partition was deleted")
        if log.is_failed:
            raise NotCleaned(Obstacle.OFFLINE, "its log directory is offline")
        if log.topic_partition in self.uncleanable:
            reason = self.uncleanable[log.topic_partition]
            raise NotCleaned(Obstacle.UNCLEANABLE, reason)

    def _is_current(self, log: UnifiedLog) -> bool:
        return (
            not self._is_closed
            and not log.is_failed
            and self._log_manager.get(log.topic_partition) is log
        )

    async def _clean(self, log: UnifiedLog, cleanable: Cleanable) -> RoundEnd:
        try:
            return await self._insist(log, cleanable)
        except NotCleaned:
            raise
        except DiskFull as error:
            log.lines(_logger).warning("it is not cleaned yet: %s", error)
            raise NotCleaned(Obstacle.NO_ROOM, str(error)) from error
        except StorageFailure as error:
            self._committer.for_directory(log.directory.parent).fail(error)
            raise NotCleaned(Obstacle.OFFLINE, str(error)) from error
        except (KafkaStorageError, OSError) as error:  # too many files, or processes
            self.check(log)
            log.lines(_logger).warning("it is not cleaned yet: %s", error)
            raise NotCleaned(Obstacle.GIVEN_UP, str(error)) from error
        except Exception as error:
            self.check(log)
            reason = self._leave_alone(log, error)
            raise NotCleaned(Obstacle.UNCLEANABLE, reason) from error

    def _leave_alone(self, log: UnifiedLog, error: Exception) -> str:
        """Clean a log no more. Returns why."""
        name = log.topic_partition
        if name not in self.uncleanable:
            self.uncleanable[name] = str(error) or type(error).__name__
            log.lines(_logger).log(
                logging.ERROR,
                "it cannot be cleaned, and is left as it is: %s",
                self.uncleanable[name],
                bug=None if isinstance(error, _EXPECTED) else error,
            )
        return self.uncleanable[name]

    async def _insist(self, log: UnifiedLog, cleanable: Cleanable) -> RoundEnd:
        has_failed = False
        while True:
            try:
                return await self._run(log, cleanable)
            except DamageFound as found:
                await self._quarantine(log, found)
            except KafkaStorageError:
                raise
            except (KafkaError, RuntimeError, *MISSING) as error:
                self.check(log)
                if has_failed:
                    raise
                has_failed = True
                log.lines(_logger).warning("cleaning is tried once more: %s", error)
            self.check(log)
            cleanable = self.cleanable(log)

    async def _quarantine(self, log: UnifiedLog, found: DamageFound) -> None:
        segment = log.local.segments.get(found.base_offset)
        damage = await self._disk_threads.run(examination(log, found))
        if segment is None or log.local.segments.get(found.base_offset) is not segment:
            return
        if not log.damage.take(segment, damage):
            raise found

    async def _run(self, log: UnifiedLog, cleanable: Cleanable) -> RoundEnd:
        started_ms = self._clock.monotonic_ms()
        plan = await self._plan(log, cleanable)
        sources = {each.base_offset: each.size for each in plan.segments}

        def is_wanted() -> bool:
            return self._is_current(log) and _has_all(log, sources)

        async def take(cleaned: CleanedSegment) -> None:
            if await self._take(log, cleaned, is_wanted):
                for base_offset in cleaned.replaced:
                    del sources[base_offset]

        ended = await self._cleaner.clean(plan, take, is_wanted)
        self.check(log)
        if ended is None:
            reason = "records were deleted while it was cleaned"
            log.lines(_logger).info("it is not cleaned yet: %s", reason)
            raise NotCleaned(Obstacle.GIVEN_UP, reason)
        await self.note(log, ended.next_dirty_offset)
        stats, elapsed_ms = ended.stats, self._clock.monotonic_ms() - started_ms
        self.gauges.note_round(stats, elapsed_ms, plan.map_size)
        log.lines(_logger).info(
            "it is clean up to %d: %d of %d records are left, %d bytes of %d, in %d ms",
            ended.next_dirty_offset,
            stats.records_written,
            stats.records_read,
            stats.bytes_written,
            stats.bytes_read,
            elapsed_ms,
        )
        return ended

    async def _plan(self, log: UnifiedLog, cleanable: Cleanable) -> CleaningPlan:
        """What is to be done, made in pieces so that nobody waits for it."""
        limits = self.limits
        producers = bytearray()
        for piece in pack_ends(log, cleanable.end_offset):
            producers += piece
            if len(log.producers) > PIECE_LENGTH:
                await asyncio.sleep(0)
        self.check(log)
        if self.cleanable(log).end_offset < cleanable.end_offset:
            raise NotCleaned(Obstacle.GIVEN_UP, "records were deleted meanwhile")
        plan = plan_round(
            log,
            cleanable,
            self._clock.now_ms(),
            limits.map_size_of_round,
            bytes(producers),
        )
        return plan._replace(
            bytes_per_second=limits.rate_of_round, load_factor=limits.load_factor
        )

    async def _take(
        self, log: UnifiedLog, cleaned: CleanedSegment, is_wanted: Callable[[], bool]
    ) -> bool:
        """Whether readers have the new segment now."""
        now_ms = self._clock.now_ms()
        replacement = SegmentReplacement(
            log, cleaned.base_offset, cleaned.replaced, now_ms
        )
        for job in replacement.steps(is_wanted):
            await self._disk_threads.run(job)
        self._log_manager.remove_later(log, replacement.old, now_ms)
        return bool(replacement.old)

    async def note(self, log: UnifiedLog, next_dirty_offset: int) -> None:
        """Write down up to where a log is clean."""
        async with self._checkpoint_turn:
            self.check(log)
            checkpoint = self._log_manager.cleaner_checkpoint(log)
            known = frozenset(self._log_manager.directories_of())
            job = checkpoint.put_job(log.topic_partition, next_dirty_offset, known)
            await self._disk_threads.run(job)


def _has_all(log: UnifiedLog, sources: Mapping[int, int]) -> bool:
    """Whether segments that are not replaced yet are there, in the size they had.

    Retention, DeleteRecords or a truncation may have taken some: what was made of them
    must not come in their place.
    """
    segments = log.local.segments
    return all(
        (segment := segments.get(base_offset)) is not None and segment.size == size
        for base_offset, size in sources.items()
    )

"""Scrubbing: sealed segments are read again, slowly, to find what has rotted.

Each turn reads about ``log.scrub.bytes.per.second`` in a disk thread. What was found
is applied on the loop: damage goes into the quarantine, wrong indexes are written
anew. A round takes all sealed segments there are when it begins; the next one begins
``log.scrub.interval.ms`` after that.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import CorruptMessage, KafkaStorageError
from odradek.storage.indexes.mapped_index import CorruptIndex
from odradek.storage.segment.batch_verification import DamagedBatch
from odradek.storage.segment.scrubber import ScrubPlan, SegmentScrub

if TYPE_CHECKING:
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.disk_threads import DiskThreads
    from odradek.storage.directory.log_manager import LogManager
    from odradek.storage.log.unified_log import UnifiedLog
    from odradek.storage.segment.log_segment import LogSegment

SCRUB_TURN_MS = 1_000
_SEGMENTS_A_TURN = 200

_logger = logging.getLogger(__name__)


class _Scrubbed(NamedTuple):
    log: UnifiedLog
    segment: LogSegment
    scrub: SegmentScrub


class Scrubbing:
    """Rounds over the sealed segments of all logs, a piece at each turn."""

    def __init__(
        self,
        clock: Clock,
        log_manager: LogManager,
        disk_threads: DiskThreads,
        interval_ms: int,
        bytes_per_second: int,
        bugs: Bugs,
    ) -> None:
        self.scrubbed_bytes = 0
        self._clock = clock
        self._log_manager = log_manager
        self._files = log_manager.files
        self._disk_threads = disk_threads
        self._bugs = bugs
        self._interval_ms = interval_ms
        self._turn_bytes = max(1, bytes_per_second * SCRUB_TURN_MS // 1000)
        self._next_round_ms = clock.monotonic_ms() + interval_ms
        self._waiting: deque[tuple[UnifiedLog, int]] = deque()
        self._current: _Scrubbed | None = None

    async def scrub(self) -> None:
        """Read what a turn allows. A periodic job, every ``SCRUB_TURN_MS``."""
        if self._current is None and not self._waiting and not self._begin_round():
            return
        left = self._turn_bytes
        for _ in range(_SEGMENTS_A_TURN):
            current = self._current or self._next()
            if current is None or left <= 0:
                break
            self._current = current
            left -= await self._read(current, left)

    def _begin_round(self) -> bool:
        now_ms = self._clock.monotonic_ms()
        if now_ms < self._next_round_ms:
            return False
        self._next_round_ms = now_ms + self._interval_ms
        self._waiting.extend(
            (log, segment.base_offset)
            for log in self._log_manager.logs()
            for segment in log.local.segments
        )
        return True

    def _next(self) -> _Scrubbed | None:
        while self._waiting:
            log, base_offset = self._waiting.popleft()
            segment = log.local.segments.get(base_offset)
            if segment is not None and self._is_sealed(log, segment):
                plan = ScrubPlan(
                    log.directory,
                    base_offset,
                    segment.reader.end.limit,
                    segment.size,
                    segment.reader.quarantined,
                    segment.config.is_compacted,
                )
                return _Scrubbed(log, segment, SegmentScrub(self._files, plan))
        return None

    def _is_sealed(self, log: UnifiedLog, segment: LogSegment) -> bool:
        """Whether it is a segment of a log that is in use, and not the active one."""
        segments = log.local.segments
        return (
            self._log_manager.get(log.topic_partition) is log
            and segments.get(segment.base_offset) is segment
            and segment is not segments.last
        )

    async def _read(self, current: _Scrubbed, bytes_max: int) -> int:
        """Read on, and apply what was found when the segment is done."""
        scrub, path = current.scrub, current.segment.log.path
        before = scrub.bytes_read
        is_done = True
        try:
            is_done = await self._disk_threads.run(scrub.run, bytes_max)
        except KafkaStorageError as error:
            _logger.error("%s cannot be scrubbed: %s", path, error)
        except Exception as error:  # the segments behind it are read all the same
            self._bugs.record(f"scrub of {path}", error)
        if is_done:
            self._current = None
            self._apply(current)
        size = scrub.bytes_read - before
        self.scrubbed_bytes += size
        return size

    def _apply(self, scrubbed: _Scrubbed) -> None:
        log, segment, scrub = scrubbed
        if not self._is_sealed(log, segment) or segment.size != scrub.plan.size:
            return
        try:
            for position in scrub.damaged:
                log.damage.meet(
                    DamagedBatch(segment.base_offset, position, "found by scrubbing")
                )
            if scrub.index_fault:
                segment.indexes.rebuild(
                    CorruptIndex(f"{segment.log.path}: {scrub.index_fault}")
                )
        except CorruptMessage as error:
            _logger.warning("%s", error)
        except KafkaStorageError as error:
            _logger.error("%s is not put right: %s", segment.log.path, error)
        except Exception as error:
            self._bugs.record(f"scrub of {segment.log.path}", error)

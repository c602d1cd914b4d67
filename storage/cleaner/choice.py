"""Whether a log is worth a round of cleaning, and which part of it may be cleaned.

What may be cleaned ends below the last stable offset, below the active segment, and
below the first segment with records younger than ``min.compaction.lag.ms``. A log is
due when more than ``min.cleanable.dirty.ratio`` of that was not cleaned before, or when
some of it is older than ``max.compaction.lag.ms``.
"""

from typing import TYPE_CHECKING, NamedTuple

from .plan import CleaningPlan, SourceSegment
from .producer_ends import pack_ends

if TYPE_CHECKING:
    from odradek.storage.log.unified_log import UnifiedLog
    from odradek.storage.segment.log_segment import LogSegment


class Cleanable(NamedTuple):
    """What of a log may be cleaned: segments up to ``end_offset``; sizes in bytes.

    That may be below ``first_dirty_offset``, with nothing between them.
    ``is_overdue``: some of it is older than it may be.
    """

    first_dirty_offset: int
    end_offset: int
    clean_size: int
    dirty_size: int
    is_overdue: bool

    @property
    def dirty_ratio(self) -> float:
        """How much of it was not cleaned before."""
        whole = self.clean_size + self.dirty_size
        return self.dirty_size / whole if whole else 0.0

    def is_due(self, ratio_min: float) -> bool:
        """Whether it is worth a round."""
        return self.dirty_size > 0 and (self.is_overdue or self.dirty_ratio > ratio_min)


def first_dirty_offset(log: "UnifiedLog", checkpoint: int | None) -> int:
    """Where cleaning goes on: at the checkpoint, if that is within the log."""
    start = log.log_start_offset
    if checkpoint is None or not start <= checkpoint <= log.log_end_offset:
        return start
    return checkpoint


def find_cleanable(log: "UnifiedLog", first_dirty: int, now_ms: int) -> Cleanable:
    """The part of a log that may be cleaned, its dirty part from ``first_dirty`` on."""
    end_offset = _end(log, first_dirty, now_ms)
    clean = dirty = 0
    oldest_dirty: LogSegment | None = None
    for segment in log.local.segments.values(0, max(end_offset, 0)):
        following = segment.reader.end.limit
        if following <= first_dirty:
            clean += segment.size
        else:
            dirty += segment.size
            oldest_dirty = oldest_dirty or segment
    return Cleanable(
        first_dirty,
        end_offset,
        clean,
        dirty,
        oldest_dirty is not None and _is_overdue(log, oldest_dirty, now_ms),
    )


def _end(log: "UnifiedLog", first_dirty: int, now_ms: int) -> int:
    """The base of the first segment that must stay as it is."""
    segments = log.local.segments
    limit = min(log.last_stable_offset, log.local.active.base_offset)
    lag_ms = log.config.min_compaction_lag_ms
    if lag_ms > 0:
        for segment in segments.values(first_dirty, max(limit, first_dirty)):
            if segment.largest_timestamp() > now_ms - lag_ms:
                limit = min(limit, segment.base_offset)
                break
    holder = segments.floor(limit)
    return limit if holder is None else holder.base_offset


def _is_overdue(log: "UnifiedLog", segment: "LogSegment", now_ms: int) -> bool:
    limit_ms = now_ms - log.config.max_compaction_lag_ms
    if limit_ms <= 0:
        return False  # as it is by default, and it would have to be read
    return 0 <= segment.first_timestamp() < limit_ms


def plan_round(
    log: "UnifiedLog",
    cleanable: Cleanable,
    now_ms: int,
    map_size: int,
    producers: bytes | None = None,
) -> CleaningPlan:
    """What a round is to do with a log as it is now. Nothing is read for it.

    ``producers``, if given, are those that `pack_ends` has packed since ``cleanable``
    was found.
    """
    segments = log.local.segments
    end_offset = cleanable.end_offset
    if producers is None:
        producers = b"".join(pack_ends(log, end_offset))
    return CleaningPlan(
        log.directory,
        tuple(
            SourceSegment(
                each.base_offset,
                each.reader.end.limit,
                each.size,
                bool(each.reader.quarantined),
            )
            for each in segments.values(0, end_offset)
        ),
        cleanable.first_dirty_offset,
        end_offset,
        now_ms,
        log.config.delete_retention_ms,
        log.config,
        map_size,
        tuple(each.base_offset for each in segments),
        producers=producers,
    )

"""Which segments of a log may go, and letting them go.

Only a prefix of the log is ever removed: the scan stops at the first segment that
stays. A segment may go when all of it is replicated and

- all its records lie below the log start (DeleteRecords), or
- its newest record is older than ``retention.ms``, or
- the log without it still holds ``retention.bytes``.

The log start rises before the segments vanish, so no reader meets a hole. Their files
are renamed at once, and removed after ``file.delete.delay.ms`` by the caller.
"""

import logging
from collections.abc import Callable, Iterator
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING

from odradek.storage.files.files import DiskFull
from odradek.storage.local.watermarks import LogStartReason
from odradek.storage.producers.snapshot import snapshot_path

if TYPE_CHECKING:
    from odradek.storage.segment.log_segment import LogSegment

    from .unified_log import UnifiedLog

Question = Callable[["LogSegment", int], bool]

_log = logging.getLogger(__name__)


class RetentionReason(Enum):
    """Why segments go, in the order in which it is asked."""

    LOG_START = "they lie below the log start"
    SIZE = "the log is larger than retention.bytes"
    TIME = "they are older than retention.ms"


def delete_old_segments(log: "UnifiedLog", now_ms: int) -> list["LogSegment"]:
    """Take every segment out of ``log`` that may go; their files are to be removed.

    With them come those that a truncation has taken out.
    """
    breached = delete_breached_segments(log, now_ms).values()
    # Last: what is taken is the caller's to remove, and nobody else knows of it.
    return log.truncation.take_removed_segments() + list(chain.from_iterable(breached))


def delete_breached_segments(
    log: "UnifiedLog", now_ms: int
) -> dict[RetentionReason, list["LogSegment"]]:
    """The same, by the reason for which they go.

    A log that is only compacted loses what lies below its start.
    """
    if log.is_failed:
        return {}
    questions = {RetentionReason.LOG_START: _is_below_start}
    if "delete" in log.config.cleanup_policy:
        questions[RetentionReason.SIZE] = _is_beyond_size
        questions[RetentionReason.TIME] = _is_too_old
    gone = {}
    for reason, question in questions.items():
        segments = _delete(log, question(log, now_ms), now_ms)
        if segments:
            _report(log, reason, segments)
            gone[reason] = segments
    return gone


def _report(
    log: "UnifiedLog", reason: RetentionReason, segments: list["LogSegment"]
) -> None:
    log.lines(_log).info(
        "%d segments deleted because %s: base offsets %s; %d bytes are left",
        len(segments),
        reason.value,
        ", ".join(str(segment.base_offset) for segment in segments),
        log.size,
    )


def _is_below_start(log: "UnifiedLog", now_ms: int) -> Question:
    return lambda segment, next_offset: next_offset <= log.log_start_offset


def _is_beyond_size(log: "UnifiedLog", now_ms: int) -> Question:
    retention_bytes = log.config.retention_bytes
    if retention_bytes < 0:
        return lambda segment, next_offset: False
    surplus = log.size - retention_bytes

    def is_beyond(segment: "LogSegment", next_offset: int) -> bool:
        nonlocal surplus
        # The log may stay above the limit by less than a segment.
        surplus -= segment.size
        return surplus >= 0

    return is_beyond


def _is_too_old(log: "UnifiedLog", now_ms: int) -> Question:
    retention_ms = log.config.retention_ms
    if retention_ms < 0:
        return lambda segment, next_offset: False
    return lambda segment, next_offset: (
        now_ms - segment.largest_timestamp() > retention_ms
    )


def _delete(log: "UnifiedLog", may_go: Question, now_ms: int) -> list["LogSegment"]:
    gone = list(_prefix(log, may_go))
    if gone and gone[-1] is log.local.active:
        try:
            log.roll(now_ms)  # a log always has a segment to append to
        except DiskFull:
            gone.pop()  # those before it make room for that
    if not gone:
        return []
    following = log.local.segments.higher(gone[-1].base_offset)
    assert following is not None
    log.increment_log_start(following.base_offset, LogStartReason.SEGMENT_DELETION)
    try:
        log.local.remove_segments(gone)
    except DiskFull:
        gone = [
            each for each in gone if log.local.segments.get(each.base_offset) is None
        ]
        if not gone:
            raise
    log.quarantine.truncate_from_start(log.local.segments.first.base_offset)
    for segment in gone:
        log.local.files.unlink(snapshot_path(log.directory, segment.base_offset))
    return gone


def _prefix(log: "UnifiedLog", may_go: Question) -> Iterator["LogSegment"]:
    for segment in log.local.segments:
        following = log.local.segments.higher(segment.base_offset)
        next_offset = log.log_end_offset if following is None else following.base_offset
        is_replicated = next_offset <= log.high_watermark
        is_only_begun = following is None and not segment.size
        if is_only_begun or not is_replicated or not may_go(segment, next_offset):
            return
        yield segment

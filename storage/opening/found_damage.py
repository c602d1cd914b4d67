"""What loading a log does with damage: cut it, or keep it and have readers pass over.

Behind the last valid batch of a log, and above its recovery point, is a *torn tail*: it
was never acknowledged, and is cut. Everything else is *damage inside* and stays in its
file, because offsets in it may have been seen, and some of it may be saved by hand. It
goes into the quarantine with the offsets that it spans. Offsets whose bytes are gone
are in there too, with no bytes: a *hole*.

After a clean stop there is no torn write: a last batch of which the end is missing is
what a damaged file system left, nobody can read it, and it is cut for Kafka's sake.
"""

import logging
from collections.abc import Iterable
from typing import NamedTuple

from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    CURRENT_MAGIC,
    LOG_OVERHEAD,
    read_header,
)
from odradek.storage.formats.quarantine_entry import QuarantineEntry
from odradek.storage.local.leader_epochs import LeaderEpochs
from odradek.storage.local.quarantine import Quarantine
from odradek.storage.local.segments import LogSegments
from odradek.storage.producers.replay import indexed_position
from odradek.storage.scan.batch_scan import BatchScan, Expected
from odradek.storage.scan.damage import is_zeros
from odradek.storage.scan.result import Recovery
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.values.log_lines import LogLines

_END = 1 << 62

_log = logging.getLogger(__name__)


class Seen(NamedTuple):
    """Which offsets somebody may have seen, and how the log was left."""

    was_clean: bool
    log_start_offset: int
    recovery_point: int
    has_gaps: bool  # compaction leaves them


class FoundDamage:
    """Settles what scans of segments have found; ``cut_bytes`` were of torn tails."""

    def __init__(
        self, quarantine: Quarantine, epochs: LeaderEpochs, seen: Seen
    ) -> None:
        self._quarantine = quarantine
        self._epochs = epochs
        self._seen = seen
        self.cut_bytes = 0

    def keep(self, segment: LogSegment, recovery: Recovery) -> None:
        """Put wrong offsets right, and quarantine what lies between valid batches."""
        for repair in recovery.repairs:
            self._quarantine.take(segment, repair)
        for start, end, base_offset, next_offset in recovery.damaged:
            offsets = (base_offset, next_offset)
            self._add(segment, (start, end), offsets, "no valid batch")

    def settle_tail(
        self, segments: LogSegments, segment: LogSegment, recovery: Recovery
    ) -> int:
        """Cut or quarantine what lies behind the last valid batch of a segment.

        Returns the offset up to which offsets were lost.
        """
        next_offset = recovery.next_offset
        later = segments.values(segment.base_offset, _END)[1:]
        if recovery.is_torn:
            if self._is_covered(segment, recovery):
                return later[0].base_offset if later else next_offset
            limit = self._seen.recovery_point
            if later and (limit > later[0].base_offset or _hold_bytes(later)):
                limit = later[0].base_offset
            if next_offset < limit and not self._is_cut_anyhow(segment, recovery):
                tail = recovery.valid_end, recovery.size
                self._add(segment, tail, (next_offset, limit), "nothing valid follows")
                return limit
            self._cut(segment, recovery)
        if recovery.is_torn or not (later and self._seen.has_gaps):
            limit = later[0].base_offset if later else self._seen.recovery_point
            self.note_hole(segment, next_offset, limit, "the batches are missing")
            return max(limit, next_offset)
        return next_offset

    def cut_zeros(self, segment: LogSegment, next_base: int) -> None:
        """Cut a sealed segment that ends where it should, with zeros behind.

        They were written ahead (``preallocate``) and cut when it was sealed, but that
        had not reached the disk. Nothing else is changed.
        """
        end = end_of(segment)
        if end.is_torn and end.next_offset == next_base and _is_zero_tail(segment, end):
            self._cut(segment, end)

    def _cut(self, segment: LogSegment, recovery: Recovery) -> None:
        # Zeros were written ahead of the log, or by a file system that lost what was
        # never acknowledged: that is how a log looks after a kill.
        level = logging.DEBUG if _is_zero_tail(segment, recovery) else logging.WARNING
        if self._seen.was_clean:
            level = logging.WARNING
        size = recovery.size - recovery.valid_end
        self.cut_bytes += size
        LogLines(_log, segment.log.path.parent).log(
            level,
            "%s: nothing valid follows offset %d: %d bytes are cut",
            segment.log.path.name,
            recovery.next_offset,
            size,
        )
        segment.cut(recovery.valid_end)

    def note_hole(
        self, segment: LogSegment, base_offset: int, next_offset: int, reason: str
    ) -> None:
        """Quarantine offsets behind the end of a segment that have no bytes."""
        end = segment.size
        self._add(segment, (end, end), (base_offset, next_offset), reason)

    def note_missing(self, segments: LogSegments, bases: Iterable[int]) -> None:
        """Note the segments at ``bases``, of which only side files were left."""
        for base_offset in bases:
            before = segments.floor(base_offset)
            behind = segments.higher(base_offset)
            if before is None:
                continue
            next_offset = end_of(before).next_offset
            limit = self._seen.recovery_point if behind is None else behind.base_offset
            reason = f"the segment at {base_offset} is missing"
            self.note_hole(before, next_offset, limit, reason)

    def _is_covered(self, segment: LogSegment, recovery: Recovery) -> bool:
        """Whether the tail is in the quarantine already."""
        return any(
            entry.start <= recovery.valid_end and recovery.size <= entry.end
            for entry in self._quarantine.of_segment(segment.base_offset)
        )

    def _is_cut_anyhow(self, segment: LogSegment, recovery: Recovery) -> bool:
        return self._seen.was_clean and _is_cut_short(segment, recovery.valid_end)

    def _add(
        self,
        segment: LogSegment,
        byte_range: tuple[int, int],
        offsets: tuple[int, int],
        reason: str,
    ) -> None:
        base_offset = max(offsets[0], segment.base_offset)
        next_offset = min(offsets[1], segment.reader.end.limit)
        if byte_range[0] == byte_range[1]:
            base_offset = max(base_offset, self._seen.log_start_offset)
            if base_offset >= next_offset:
                return
        epoch = self._epochs.epoch_for_offset(base_offset)
        self._quarantine.add(
            QuarantineEntry(
                segment.base_offset,
                *byte_range,
                base_offset,
                next_offset - 1,
                reason,
                epoch,
            )
        )


def anchored(segment: LogSegment, recovery: Recovery) -> Recovery:
    """The recovery with the offsets before it, when it began with damage.

    A scan from an index entry does not know them; the headers from the start on do.
    """
    base_offset = segment.base_offset
    if recovery.damaged:
        first, *others = recovery.damaged
        if first.start and first.base_offset == base_offset:
            next_offset = _next_offset_at(segment, first.start, first.next_offset)
            first = first._replace(base_offset=next_offset)
            recovery = recovery._replace(damaged=(first, *others))
    if recovery.valid_end and recovery.next_offset == base_offset:
        limit = segment.reader.end.limit
        next_offset = _next_offset_at(segment, recovery.valid_end, limit)
        recovery = recovery._replace(next_offset=next_offset)
    return recovery


def end_of(segment: LogSegment) -> Recovery:
    """How a sealed segment ends, as far as the headers behind its last entry say."""
    position = indexed_position(segment, _END)
    scan = _headers_from(segment, position)
    for _ in scan:
        pass
    return scan.recovery()


def _next_offset_at(segment: LogSegment, position: int, limit: int) -> int:
    """The offset behind the last batch before ``position``; ``limit`` at most."""
    next_offset = segment.base_offset
    for at, header, _ in _headers_from(segment, 0):
        if at >= position or header.next_offset > limit:
            break
        next_offset = header.next_offset
    return next_offset


def _headers_from(segment: LogSegment, position: int) -> BatchScan:
    """The batches from ``position`` on, whose checksums are not compared."""
    base_offset, end = segment.base_offset, segment.reader.end
    known = segment.indexes.has_gaps, segment.indexes.claims()
    expected = Expected(None, end.offset, end.limit - base_offset - 1, *known)
    return BatchScan(segment.log, position, base_offset, False, expected)


def _is_zero_tail(segment: LogSegment, recovery: Recovery) -> bool:
    return is_zeros(segment.log, recovery.valid_end, recovery.size)


def _hold_bytes(segments: list[LogSegment]) -> bool:
    return any(segment.size for segment in segments)


def _is_cut_short(segment: LogSegment, position: int) -> bool:
    """Whether a batch begins at ``position`` and the file ends inside it."""
    data = segment.log.read_at(position, BATCH_OVERHEAD)
    if len(data) < BATCH_OVERHEAD:
        return True
    header = read_header(data)
    return (
        header.magic == CURRENT_MAGIC
        and header.batch_length + LOG_OVERHEAD > segment.size - position
    )

"""One ``.log``, read from its beginning to its end, with all who watch."""

from collections.abc import Sequence
from typing import NamedTuple

from odradek.protocol.errors import KafkaError
from odradek.protocol.record_batch import BatchHeader
from odradek.protocol.records import iterate
from odradek.storage.files.file_system import File
from odradek.storage.formats.quarantine_entry import QuarantineEntry
from odradek.storage.scan.batch_scan import BatchScan
from odradek.storage.scan.damage import DamagedPart, LogPlace, damaged_parts

from .known import Known
from .report import Place, Report, Severity
from .watcher import Watcher

_BATCH_CODE = "batch"


class Segment(NamedTuple):
    """What is known of a segment before it is read."""

    base_offset: int
    next_base: int | None  # None: it is the last one
    quarantined: Sequence[QuarantineEntry] = ()


class SegmentEnd(NamedTuple):
    """What is known of it afterwards."""

    next_offset: int
    ends_in_damage: bool  # what follows the last valid batch is lost
    looks_compacted: bool  # there are offsets without a record


class SegmentCheck:
    """Reads the segments of one partition."""

    def __init__(self, known: Known, report: Report, reads_records: bool) -> None:
        self._known = known
        self._report = report
        self._reads_records = reads_records

    def run(
        self, log: File, segment: Segment, watchers: Sequence[Watcher]
    ) -> SegmentEnd:
        """Read it, and say how it ends."""
        end, next_offset = 0, segment.base_offset
        looks_compacted = False
        for position, header, batch in BatchScan(log, 0, segment.base_offset):
            if position > end:
                place = LogPlace(segment.base_offset, next_offset)
                self._damaged(log, (end, position), place, segment)
                for watcher in watchers:
                    watcher.on_damage(end, position)
            elif not _is_full(header, next_offset):
                looks_compacted = True
            for watcher in watchers:
                watcher.on_batch(position, header, batch)
            self._count(log, position, header, batch)
            end, next_offset = position + header.size, header.next_offset
        if end < log.size:
            self._tail(log, end, next_offset, segment)
            for watcher in watchers:
                watcher.on_damage(end, log.size)
        for watcher in watchers:
            watcher.on_end(end, next_offset)
        if segment.next_base is not None and next_offset > segment.next_base:
            self._report.findings.damage(
                "overlap",
                log.path.name,
                f"goes on to offset {next_offset - 1}, but the next segment begins at"
                f" {segment.next_base}",
            )
        self._report.segments += 1
        self._report.size += log.size
        return SegmentEnd(next_offset, end < log.size, looks_compacted)

    def _count(
        self, log: File, position: int, header: BatchHeader, batch: memoryview
    ) -> None:
        self._report.batches += 1
        self._report.records += max(header.records_count, 0)
        if not self._reads_records:
            return
        try:
            for _ in iterate(batch):
                pass
        except (KafkaError, ValueError) as error:
            place = Place(
                position,
                position + header.size,
                header.base_offset,
                header.last_offset,
            )
            message = f"the records cannot be read: {error}"
            self._report.findings.damage("records", log.path.name, message, place)

    def _damaged(
        self, log: File, span: tuple[int, int], place: LogPlace, segment: Segment
    ) -> None:
        next_offset = place.next_offset
        for part in damaged_parts(log, *span, place):
            if not _is_quarantined(part, segment.quarantined):
                self._report.findings.damage(
                    _BATCH_CODE, log.path.name, part.reason, _place(part, next_offset)
                )

    def _tail(self, log: File, start: int, next_offset: int, segment: Segment) -> None:
        """What no valid batch follows: torn by a stop, unless it was durable."""
        place = LogPlace(segment.base_offset, next_offset)
        first = next(damaged_parts(log, start, log.size, place))
        # One that was just sealed may still have what was written ahead of its log.
        is_whole = first.is_zeros and next_offset == segment.next_base
        if segment.next_base is not None and not is_whole:
            self._damaged(log, (start, log.size), place, segment)
            return
        if _is_quarantined(first, segment.quarantined):
            return
        is_durable = self._known.is_durable(next_offset)
        self._report.findings.add(
            Severity.DAMAGE if is_durable else Severity.NOTE,
            "zero-tail" if first.is_zeros else "torn-tail",
            log.path.name,
            f"no valid batch behind offset {next_offset - 1}: {first.reason}",
            Place(start, log.size),
        )


def _is_full(header: BatchHeader, next_offset: int) -> bool:
    """Whether every offset from ``next_offset`` to its last one has a record."""
    is_next = header.base_offset == next_offset
    return is_next and header.records_count == header.last_offset_delta + 1


def _is_quarantined(part: DamagedPart, entries: Sequence[QuarantineEntry]) -> bool:
    return any(
        entry.start <= part.position and part.end <= entry.end for entry in entries
    )


def _place(part: DamagedPart, next_offset: int) -> Place:
    if part.header is None:
        return Place(part.position, part.end)
    header = part.header
    if header.base_offset < next_offset or header.last_offset_delta < 0:
        return Place(part.position, part.end)
    return Place(part.position, part.end, header.base_offset, header.last_offset)

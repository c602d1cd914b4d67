"""The two indexes of a segment together, and the largest timestamp in it.

They grow in step: when enough bytes went by since the last entry, the next batch gets
one in the offset index, and the largest timestamp so far one in the time index. Hence
the time index covers everything up to the last entry of the offset index, and only
the batches behind that are to be looked at when a segment is opened.

Index files that are missing, contradict themselves or contradict the log are written
anew from it, with one line in the broker's log: a warning, if they should be right.
"""

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from pathlib import Path

from odradek.protocol.batch_columns import BatchColumns, BatchRun
from odradek.storage.files.files import ColdRead, File, Files
from odradek.storage.formats.quarantine_entry import QuarantineEntry
from odradek.storage.indexes.mapped_index import CorruptIndex
from odradek.storage.indexes.offset_index import (
    IndexedOffsets,
    OffsetIndex,
    OffsetPosition,
)
from odradek.storage.indexes.time_index import NO_TIMESTAMP, TimeIndex, TimestampedBatch
from odradek.storage.scan.batch_scan import BatchScan, Expected, OnRun
from odradek.storage.scan.result import Recovery
from odradek.storage.values.file_names import OFFSET_INDEX, TIME_INDEX, segment_path
from odradek.storage.values.log_lines import LogLines

from .index_agreement import ConfirmedEntries, IndexAgreement, KeptEntries
from .segment_end import SegmentEnd

_PIECE_SIZE = 4 << 20
_logger = logging.getLogger(__name__)


class SegmentIndexes:
    """Where the batches of one log file are, by offset and by time."""

    def __init__(
        self,
        files: Files,
        directory: Path,
        base_offset: int,
        log: File,
        interval_bytes: int,
        suffix: str = "",
    ) -> None:
        """For a segment that is there; nothing is read before it is needed."""
        self.interval_bytes = interval_bytes
        path = segment_path(directory, base_offset, OFFSET_INDEX + suffix)
        self.offsets = OffsetIndex(files, path, base_offset, log.size)
        path = segment_path(directory, base_offset, TIME_INDEX + suffix)
        self.times = TimeIndex(files, path, base_offset)
        self._base_offset = base_offset
        self._log = log
        self._bytes_since_entry = 0
        self._max_timestamp = NO_TIMESTAMP
        self._offset_of_max = base_offset
        self._has_timestamps = False
        self._passed: Sequence[QuarantineEntry] = ()
        self._agreement = IndexAgreement(log, self.offsets, self.times)
        self.are_expected = True
        self.end = SegmentEnd(base_offset)
        self.has_gaps = True  # if compaction may have left some
        self._log_end: int | None = None  # while that is known
        self._boundary: int | None = None
        self._before_rebuild: IndexedOffsets | None = None

    def pass_over(self, damaged: Sequence[QuarantineEntry]) -> None:
        """Take nothing from these ranges of the log any more."""
        self._passed = self._agreement.passed = damaged
        if self._has_timestamps and self._agreement.is_passed(self._offset_of_max):
            self._load_latest()

    def start(self) -> None:
        """Begin empty indexes for an empty segment."""
        self.offsets.start()
        self.times.start()
        self._agreement.is_certain = True
        self._restart()

    def note(
        self,
        position: int,
        size: int,
        last_offset: int,
        max_timestamp: int,
        offset_of_max: int,
    ) -> None:
        """Take in batches of ``size`` bytes at ``position``, ending at ``last_offset``.

        ``max_timestamp`` is in the batch that ends at ``offset_of_max``.
        """
        if max_timestamp > self._max_timestamp:
            self._max_timestamp, self._offset_of_max = max_timestamp, offset_of_max
        if self._bytes_since_entry > self.interval_bytes:
            self.offsets.append(last_offset, position)
            self.times.maybe_append(self._max_timestamp, self._offset_of_max)
            self._bytes_since_entry = 0
        self._bytes_since_entry += size

    def note_run(self, run: BatchRun) -> None:
        """Take in many batches, with entries as if each had been noted alone."""
        columns = run.columns
        positions = columns.positions
        first = positions[0]
        counted_from, place = first - self._bytes_since_entry, 0
        while True:
            limit = counted_from + self.interval_bytes
            place = bisect_right(positions, limit, place)
            if place == run.length:
                break
            self._note_latest(columns, place)
            last_offset = columns.next_offsets[place] - 1
            self.offsets.append(last_offset, run.position + positions[place])
            self.times.maybe_append(self._max_timestamp, self._offset_of_max)
            counted_from = positions[place]
            place += 1
        self._note_latest(columns, run.length - 1)
        self._bytes_since_entry = run.end - run.position - counted_from

    def _note_latest(self, columns: BatchColumns, place: int) -> None:
        timestamp = columns.max_timestamps[place]
        if timestamp > self._max_timestamp:
            self._max_timestamp = timestamp
            self._offset_of_max = columns.next_offsets[columns.places_of_max[place]] - 1

    @property
    def latest(self) -> TimestampedBatch:
        """The largest timestamp, and the last offset of the batch that holds it."""
        if not self._has_timestamps:
            self._load_latest()
        return TimestampedBatch(self._max_timestamp, self._offset_of_max)

    def _load_latest(self, may_block: bool = True) -> None:
        """Find the largest timestamp of a segment that was sealed, or has damage.

        It is the last time entry, or behind the last offset entry if the segment was
        not sealed. If damage has taken its batch, the entry before it counts, and
        all that follows that.
        """
        try:
            self._agreement.check_last()
        except CorruptIndex as error:
            self.rebuild(error, may_block)
        latest, number = self.times.last, self.times.count - 1
        while number >= 0 and self._agreement.is_passed(latest.offset):
            number -= 1
            latest = self.times.entry(number)
        start = self.offsets.last.position
        if number < self.times.count - 1:
            start = self.offsets.lookup(latest.offset).position
        for _, header, _ in self._agreement.batches_from(start):
            if header.max_timestamp > latest.timestamp:
                latest = TimestampedBatch(header.max_timestamp, header.last_offset)
        self._max_timestamp, self._offset_of_max = latest
        self._has_timestamps = True

    def floor(self, offset: int, may_block: bool = True) -> OffsetPosition:
        """The last offset entry at or below ``offset``, else the segment's start.

        Raises:
            ColdRead: the index must be made from a log that is not in memory.
        """
        try:
            return self.offsets.lookup(offset)
        except CorruptIndex as error:
            self.rebuild(error, may_block)
            return self.offsets.lookup(offset)

    def before_position(self, position: int, may_block: bool = True) -> OffsetPosition:
        """The last offset entry of a batch before ``position``, else the start."""
        try:
            return self.offsets.before_position(position)
        except CorruptIndex as error:
            self.rebuild(error, may_block)
            return self.offsets.before_position(position)

    def offset_before_time(self, timestamp: int, may_block: bool = True) -> int:
        """An offset at or below the first record that is not earlier than this.

        It is that of an indexed batch, or of the batch with a time entry.
        """
        try:
            if not self._has_timestamps:
                self._load_latest(may_block)
            floor, higher = self.times.around(timestamp)
            self._agreement.check_time(floor)
            if higher is not None:
                self._agreement.check_time(higher)
            if floor.timestamp == timestamp:
                return floor.offset
            # The last batch with an offset entry before the next time entry: had a
            # later timestamp come by up to there, it would have a time entry.
            last = self.offsets.last.offset
            return last if higher is None else self.floor(higher.offset - 1).offset
        except CorruptIndex as error:
            self.rebuild(error, may_block)
            return self.offset_before_time(timestamp, may_block)

    @property
    def are_certain(self) -> bool:
        """Whether they were made from the log in this process."""
        return self._agreement.is_certain

    def claims(self) -> IndexedOffsets:
        """What both indexes say of batches, or said when they were read.

        What one says alone may be its own damage. Entries that were made from the
        batches confirm nothing.
        """
        if self._before_rebuild is not None:
            return self._before_rebuild
        try:
            self.offsets.entries()
            self.times.entries()
        except CorruptIndex:
            return KeptEntries()
        return ConfirmedEntries(self.offsets, self.times)

    def rebuild(self, why: CorruptIndex, may_block: bool = True) -> Recovery:
        """Write both indexes anew from the log; reads all of it, and says what it is.

        Raises:
            ColdRead: not all of it is cached, and ``may_block`` is False.
        """
        if not may_block:
            self._check_cached()
        level = logging.WARNING if self.are_expected else logging.DEBUG
        lines = LogLines(_logger, self._log.path.parent)
        lines.log(level, "%s; the indexes are written anew", why)
        was_growing = self.offsets.is_growing
        indexed = KeptEntries(self.claims().between(0, self._log.size))
        self._before_rebuild = indexed
        self.offsets.start()
        self.times.start()
        self._agreement.is_certain = True
        start = OffsetPosition(self._base_offset, 0)
        recovery = self._scan_from(start, lambda run: None, indexed)
        if not was_growing:
            self.seal()
        return recovery

    def _check_cached(self) -> None:
        try:
            for position in range(0, self._log.size, _PIECE_SIZE):
                self._log.read_at(position, _PIECE_SIZE, may_block=False)
        except ColdRead as cold:
            cold.size = self._log.size - cold.position
            raise

    def grow(self, log_end: int | None = None) -> Recovery:
        """Read the indexes into memory so that entries can follow.

        Looks at the batches behind the last entry, and at no others. Returns how the
        log ends; at ``log_end``, as far as is known.
        """
        self._log_end = log_end
        try:
            self.offsets.grow()
            self.times.grow()
            self._agreement.check_last()
            recovery = self._scan_from(self.offsets.last, None)
        except CorruptIndex as error:
            recovery = self.rebuild(error)
            self.offsets.grow()
            self.times.grow()
        self._log_end = None
        return recovery

    def recover(
        self,
        from_position: int,
        on_run: OnRun | None = None,
        recovery_point: int | None = None,
    ) -> Recovery:
        """Write the entries of the batches from ``from_position`` on anew.

        ``on_run`` gets the valid batches from there. One of them ends at
        ``recovery_point``, if that is known and none was lost. Entries below are kept
        when the files can be believed, else written anew too. The indexes grow
        afterwards.
        """
        entry = self._keep_below(from_position)

        def take(run: BatchRun) -> None:
            if on_run is None:
                return
            below = bisect_left(run.columns.positions, from_position - run.position)
            part = run.part(below, run.length)
            if part is not None:
                on_run(part)

        self.are_expected = True
        self._boundary = recovery_point
        return self._scan_from(entry, take)

    def _keep_below(self, position: int) -> OffsetPosition:
        """Drop the entries of batches from ``position`` on; the last one that stays."""
        try:
            self.offsets.grow()
            self.times.grow()
            self.offsets.truncate_to_position(position)
            entry = self.offsets.last
            self.times.truncate_to(entry.offset + 1)
            self._agreement.check_place(entry)
        except CorruptIndex:
            entry = OffsetPosition(self._base_offset, 0)
        if not entry.position:
            self.offsets.start()
            self.times.start()
            self._agreement.is_certain = True
        return entry

    def _scan_from(
        self,
        start: OffsetPosition,
        on_run: OnRun | None,
        indexed: IndexedOffsets | None = None,
    ) -> Recovery:
        """Walk from an indexed batch, or the start, to the end of the log.

        With ``on_run``, entries are made on the way. ``indexed`` is what they were.
        """
        self._restart()
        expected = self._expected(start, indexed)
        scan = BatchScan(self._log, start.position, self._base_offset, True, expected)
        passed = [(entry.start, entry.end) for entry in self._passed]
        for found in scan.runs():
            for run in found.outside(passed):
                if on_run is not None:
                    self.note_run(run)
                    on_run(run)
                else:
                    self._note_latest(run.columns, run.length - 1)
        if on_run is not None:
            self.times.maybe_append(self._max_timestamp, self._offset_of_max)
        self._bytes_since_entry = 0
        if self._agreement.is_passed(self._offset_of_max):
            self._load_latest()
        return scan.recovery().behind(self._passed)

    def _expected(
        self, start: OffsetPosition, indexed: IndexedOffsets | None
    ) -> Expected:
        end = self._log_end if self.end.next_base is None else self.end.next_base
        limit = self.end.limit - self._base_offset - 1
        holes = {each.start for each in self._passed if each.start == each.end}
        known = end, limit, self.has_gaps, indexed, start.offset, self._boundary
        return Expected(None, *known, holes)

    def _restart(self) -> None:
        self._bytes_since_entry = 0
        self._max_timestamp, self._offset_of_max = self.times.last
        self._has_timestamps = True

    def truncate_to(self, offset: int) -> None:
        """Keep the entries of batches that end below ``offset``; they must grow."""
        self.offsets.truncate_to(offset)
        self.times.truncate_to(offset)

    def seal(self) -> None:
        """Give the largest timestamp its entry, and write what is only in memory."""
        if self.times.is_growing:
            self.times.maybe_append(self._max_timestamp, self._offset_of_max)
        self.flush()  # both or none: if it fails, the segment still grows
        self.offsets.seal()
        self.times.seal()

    @property
    def has_new_entries(self) -> bool:
        """Whether there are entries that are only in memory."""
        return self.offsets.has_new_entries or self.times.has_new_entries

    def flush(self) -> None:
        """Write the entries that are only in memory to their files."""
        self.offsets.flush()
        self.times.flush()

    def close(self) -> None:
        """Seal, and let go of the files."""
        self.seal()
        self.offsets.close()
        self.times.close()

    def let_go(self) -> None:
        """Of the files, which are to be removed."""
        self.offsets.let_go()
        self.times.let_go()

    def moved(self, directory: Path, suffix: str) -> None:
        """The files are in another directory now, or have another suffix."""
        base_offset = self._base_offset
        self.offsets.moved(segment_path(directory, base_offset, OFFSET_INDEX + suffix))
        self.times.moved(segment_path(directory, base_offset, TIME_INDEX + suffix))

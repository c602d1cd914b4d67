"""Reads a sealed segment again, to find what has rotted on the disk.

A `SegmentScrub` takes values and keeps its findings to itself, so a disk thread can
run it, a piece at a time, while the loop uses the segment: it has a file of its own,
and whoever applies the findings looks first whether the segment is still the same.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import CorruptMessage
from odradek.protocol.record_batch import BatchHeader
from odradek.storage.files.files import File, Files
from odradek.storage.formats.index_entry import (
    INDEX_ENTRY_SIZE,
    TIME_INDEX_ENTRY_SIZE,
    parse_index,
    parse_time_index,
)
from odradek.storage.formats.quarantine_entry import QuarantineEntry
from odradek.storage.scan.batch_scan import BatchScan, Expected
from odradek.storage.values.file_names import (
    LOG,
    OFFSET_INDEX,
    TIME_INDEX,
    segment_path,
)

if TYPE_CHECKING:
    from odradek.protocol.batch_columns import FoundBatch


class ScrubPlan(NamedTuple):
    """A sealed segment as it is now; ``known`` are its damaged ranges.

    ``has_gaps`` where compaction may have left out offsets.
    """

    directory: Path
    base_offset: int
    next_base: int
    size: int
    known: Sequence[QuarantineEntry] = ()
    has_gaps: bool = True


class SegmentScrub:
    """Compares a segment with its checksums, offsets and indexes, piece by piece.

    ``damaged`` are positions where ranges begin that are not known yet,
    ``index_fault`` says what the indexes get wrong, ``bytes_read`` how much was read.
    """

    def __init__(self, files: Files, plan: ScrubPlan) -> None:
        self.plan = plan
        self.damaged: list[int] = []
        self.index_fault = ""
        self.bytes_read = 0
        self._files = files
        self._log: File | None = None
        self._scan: BatchScan | None = None
        self._batches: Iterator[FoundBatch] = iter(())
        self._end = 0
        self._entries: dict[int, int] = {}  # last offset by position
        self._times: dict[int, int] = {}  # timestamp by last offset
        self._latest = -1
        self._last_indexed = -1

    def run(self, bytes_max: int) -> bool:
        """Read about ``bytes_max`` more. Returns whether the segment is done.

        One that is gone meanwhile is done, too. Waits for the disk.

        Raises:
            KafkaStorageError: the disk fails.
        """
        try:
            if self._log is None:
                self._open()
            limit = self.bytes_read + bytes_max
            for position, header, _ in self._batches:
                self._take(position, header)
                self.bytes_read = position + header.size
                if self.bytes_read >= limit:
                    return False
            self._finish()
        except FileNotFoundError:
            self.damaged.clear()
        except CorruptMessage:  # cut while it was read
            self.damaged.clear()
        self.close()
        return True

    def close(self) -> None:
        """Let go of the file."""
        if self._log is not None:
            self._log.close()

    def _open(self) -> None:
        directory, base_offset, next_base, *_ = self.plan
        self._log = self._files.open(segment_path(directory, base_offset, LOG))
        limit = next_base - base_offset - 1
        expected = Expected(None, next_base, limit, self.plan.has_gaps)
        self._scan = BatchScan(self._log, 0, base_offset, expected=expected)
        self._batches = iter(self._scan)
        places = parse_index(self._read(OFFSET_INDEX, INDEX_ENTRY_SIZE))
        times = parse_time_index(self._read(TIME_INDEX, TIME_INDEX_ENTRY_SIZE))
        self._entries = {
            each.position: base_offset + each.relative_offset for each in places
        }
        self._times = {
            base_offset + each.relative_offset: each.timestamp for each in times
        }
        if len(self._entries) < len(places) or len(self._times) < len(times):
            self.index_fault = "an index has two entries of one batch"

    def _read(self, kind: str, entry_size: int) -> bytes:
        path = segment_path(self.plan.directory, self.plan.base_offset, kind)
        try:
            data = self._files.read_bytes(path)
        except FileNotFoundError:
            self.index_fault = f"{path} is missing"
            return b""
        if len(data) % entry_size:
            self.index_fault = f"{path} has half an entry at its end"
        return data[: len(data) - len(data) % entry_size]

    def _take(self, position: int, header: BatchHeader) -> None:
        self._note_gap(position)
        self._end = position + header.size
        last_offset, timestamp = header.last_offset, header.max_timestamp
        if self._entries.pop(position, last_offset) != last_offset:
            self.index_fault = f"the offset index is wrong about {last_offset}"
        indexed = self._times.pop(last_offset, None)
        if indexed is not None and (indexed != timestamp or indexed < self._latest):
            self.index_fault = f"the time index is wrong about {last_offset}"
        self._latest = max(self._latest, timestamp)
        self._last_indexed = indexed if indexed is not None else self._last_indexed

    def _note_gap(self, end: int) -> None:
        """What lies between the last batch and ``end`` is damaged."""
        if self._end < end:
            self._note(self._end, end)

    def _note(self, start: int, end: int) -> None:
        known = self.plan.known
        if not any(each.start <= start and end <= each.end for each in known):
            self.damaged.append(start)

    def _finish(self) -> None:
        assert self._log is not None
        assert self._scan is not None
        self._note_gap(self._log.size)
        for repair in self._scan.recovery().repairs:
            self._note(repair.position, repair.position + repair.size)
        self.bytes_read = self._log.size
        # What damage took may be indexed, and is no fault.
        if self.damaged or self.plan.known or self.index_fault:
            return
        if self._entries or self._times:
            self.index_fault = "an index has entries of no batch"
        elif self._latest > self._last_indexed:
            self.index_fault = "the time index ends too early"

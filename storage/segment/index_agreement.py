"""Whether the indexes of a segment agree with its log.

Index files carry no checksum, and one that was overwritten or cut may look like one.
So what a time entry says is compared with its batch before it is used for the first
time; the offset index is compared at each lookup, where the batch is read anyway.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING

from odradek.protocol.record_batch import BATCH_OVERHEAD, BatchHeader, read_header
from odradek.storage.files.files import File
from odradek.storage.indexes.mapped_index import CorruptIndex
from odradek.storage.indexes.offset_index import OffsetIndex, OffsetPosition
from odradek.storage.indexes.time_index import NO_TIMESTAMP, TimeIndex, TimestampedBatch
from odradek.storage.scan.batch_scan import BatchScan
from odradek.storage.scan.batch_walk import last_offset_at

if TYPE_CHECKING:
    from odradek.storage.formats.quarantine_entry import QuarantineEntry

_BATCHES_ASKED = 1000

_position = attrgetter("position")


class KeptEntries:
    """The entries of an index as they were."""

    def __init__(self, entries: Sequence[OffsetPosition] = ()) -> None:
        self._entries = entries

    def between(self, start: int, end: int) -> Sequence[OffsetPosition]:
        """As of `IndexedOffsets`."""
        first = bisect_left(self._entries, start, key=_position)
        return self._entries[first : bisect_left(self._entries, end, key=_position)]


class ConfirmedEntries:
    """The entries of an offset index of which the time index has the same offset."""

    def __init__(self, offsets: OffsetIndex, times: TimeIndex) -> None:
        self._offsets = offsets
        self._times = times

    def between(self, start: int, end: int) -> Sequence[OffsetPosition]:
        """As of `IndexedOffsets`."""
        found = self._offsets.between(start, end)
        return [each for each in found if self._times.has_offset(each.offset)]


class IndexAgreement:
    """Compares entries with batches; ``passed`` are damaged ranges to leave out.

    ``is_certain`` when the entries were made from the log in this process.
    """

    def __init__(self, log: File, offsets: OffsetIndex, times: TimeIndex) -> None:
        self.is_certain = False
        self.passed: Sequence[QuarantineEntry] = ()
        self._log = log
        self._offsets = offsets
        self._times = times
        self._checked: set[TimestampedBatch] = set()

    def is_passed(self, offset: int) -> bool:
        """Whether ``offset`` is in a damaged range."""
        return any(
            entry.base_offset <= offset <= entry.last_offset for entry in self.passed
        )

    def is_damaged(self, position: int) -> bool:
        """Whether ``position`` is in a damaged range."""
        return any(entry.start <= position < entry.end for entry in self.passed)

    def batches_from(
        self, position: int
    ) -> Iterator[tuple[int, BatchHeader, memoryview]]:
        """The valid batches outside of damaged ranges: position, header, bytes."""
        for found in BatchScan(self._log, position, self._offsets.base_offset):
            if not self.is_damaged(found[0]):
                yield found

    def check_last(self) -> None:
        """Compare the last entries with the log.

        Raises:
            CorruptIndex: they are not those of a batch, or a batch has a timestamp
                that the time index should have. Behind the last time entry not all
                batches are asked when they are many.
        """
        last, latest = self._offsets.last, self._times.last
        if self.is_certain:
            return
        self.check_place(last)
        self.check_time(latest)
        if last.position:
            start = self._offsets.lookup(latest.offset).position
            asked = islice(self.batches_from(start), _BATCHES_ASKED)
            if any(
                header.base_offset <= last.offset
                and header.max_timestamp > latest.timestamp
                for _, header, _ in asked
            ) or latest.timestamp < max(
                self._timestamp_at(0), self._timestamp_at(last.position)
            ):
                raise CorruptIndex(f"{self._times.path} ends too early")

    def check_time(self, entry: TimestampedBatch) -> None:
        """Compare a time entry with its batch, once.

        It is that of the first batch with its timestamp. Those from the offset entry
        before it on are earlier; of those before that one would have an entry.

        Raises:
            CorruptIndex: no batch ends at its offset and has its timestamp, or one
                before it does.
        """
        timestamp, offset = entry
        if (
            self.is_certain
            or entry in self._checked
            or timestamp == NO_TIMESTAMP
            or self.is_passed(offset)
        ):
            return
        start = self._offsets.lookup(offset - 1).position
        for _, header, _ in self.batches_from(start):
            if header.last_offset >= offset:
                if header.base_offset > offset or header.max_timestamp != timestamp:
                    break
                self._checked.add(entry)
                return
            if header.max_timestamp >= timestamp:
                break
        path = self._times.path
        raise CorruptIndex(f"{path}: {entry} is not a batch, or not the first")

    def check_place(self, entry: OffsetPosition) -> None:
        """Compare an offset entry with its batch.

        Raises:
            CorruptIndex: no batch starts at its position and ends at its offset.
        """
        if entry.position and not self.is_damaged(entry.position):
            start = self._log.read_at(entry.position, BATCH_OVERHEAD)
            if len(start) < BATCH_OVERHEAD or last_offset_at(start) != entry.offset:
                raise CorruptIndex(f"{self._offsets.path}: {entry} is not a batch")

    def _timestamp_at(self, position: int) -> int:
        if self.is_damaged(position):
            return NO_TIMESTAMP
        return read_header(self._log.read_at(position, BATCH_OVERHEAD)).max_timestamp

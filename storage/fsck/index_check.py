"""The two indexes of a segment against its batches, while these are read.

An entry behind the last valid batch is no damage after an unclean stop: index and log
are not synced together, and the next start writes the index anew.
"""

from struct import Struct
from typing import TYPE_CHECKING

from odradek.protocol.record_batch import BatchHeader
from odradek.storage.dump.index_dump import entries, used_end
from odradek.storage.files.file_system import File
from odradek.storage.formats.index_entry import INDEX_ENTRY, TIME_INDEX_ENTRY

from .report import Findings, Place, Severity
from .watcher import Watcher

if TYPE_CHECKING:
    from collections.abc import Iterator

_CODE = "index"


class _IndexCheck(Watcher):
    """Entries in the order of the file, of which the next is held."""

    def __init__(
        self, index: File, layout: Struct, base_offset: int, findings: Findings
    ) -> None:
        self._name = index.path.name
        self._base_offset = base_offset
        self._findings = findings
        self._size = layout.size
        self._saw_damage = False
        self._entries: Iterator[tuple[int, tuple[int, ...]]] = entries(
            index, layout, used_end(index, layout.size)
        )
        self._next = next(self._entries, None)
        rest = index.size % layout.size
        if rest:
            message = f"the last {rest} bytes are not a whole entry"
            findings.damage(_CODE, self._name, message, Place(index.size - rest))

    def _take(self) -> None:
        self._next = next(self._entries, None)

    def _wrong(self, at: int, message: str) -> None:
        place = Place(at, at + self._size)
        self._findings.damage(_CODE, self._name, message, place)


class OffsetIndexCheck(_IndexCheck):
    """Every entry names the last offset of a batch and where the batch begins."""

    def __init__(
        self, index: File, base_offset: int, is_durable: bool, findings: Findings
    ) -> None:
        super().__init__(index, INDEX_ENTRY, base_offset, findings)
        self._is_durable = is_durable

    def on_batch(self, position: int, header: BatchHeader, batch: memoryview) -> None:
        """Compare the entries up to this batch."""
        while self._next is not None and self._next[1][1] <= position:
            at, (relative_offset, indexed) = self._next
            offset = self._base_offset + relative_offset
            if indexed < position:
                self._wrong(at, f"no batch begins at {indexed}")
            elif offset != header.last_offset:
                self._wrong(
                    at,
                    f"says offset {offset} for the batch at {position}, which ends"
                    f" at {header.last_offset}",
                )
            self._take()

    def on_damage(self, position: int, end: int) -> None:
        """Pass over the entries of batches that cannot be read."""
        while self._next is not None and self._next[1][1] < end:
            at, (_, indexed) = self._next
            if indexed < position:
                self._wrong(at, f"no batch begins at {indexed}")
            self._take()

    def on_end(self, valid_end: int, next_offset: int) -> None:
        """Whatever is left lies behind the log."""
        severity = Severity.DAMAGE if self._is_durable else Severity.NOTE
        while self._next is not None:
            at, (_, indexed) = self._next
            self._findings.add(
                severity,
                _CODE,
                self._name,
                f"an entry for {indexed}, behind the last valid batch",
                Place(at, at + self._size),
            )
            self._take()


class TimeIndexCheck(_IndexCheck):
    """Every entry is the largest timestamp up to its offset."""

    def __init__(
        self, index: File, base_offset: int, is_sealed: bool, findings: Findings
    ) -> None:
        super().__init__(index, TIME_INDEX_ENTRY, base_offset, findings)
        self._is_sealed = is_sealed
        self._timestamp_max = -1
        self._last = -1
        self._is_behind_damage = False

    def on_batch(self, position: int, header: BatchHeader, batch: memoryview) -> None:
        """Compare the entries up to this batch."""
        self._compare_below(header.base_offset)
        self._timestamp_max = max(self._timestamp_max, header.max_timestamp)
        self._is_behind_damage = False
        self._compare_below(header.next_offset)

    def on_damage(self, position: int, end: int) -> None:
        """The largest timestamp may have been in there."""
        self._saw_damage = self._is_behind_damage = True

    def on_end(self, valid_end: int, next_offset: int) -> None:
        """The last entry of a sealed segment is its largest timestamp."""
        severity = Severity.DAMAGE if self._is_sealed else Severity.NOTE
        if self._saw_damage:
            return
        while self._next is not None:
            at, (_, relative_offset) = self._next
            offset = self._base_offset + relative_offset
            message = f"an entry for offset {offset}, behind the last valid batch"
            place = Place(at, at + self._size)
            self._findings.add(severity, _CODE, self._name, message, place)
            self._last = self._timestamp_max
            self._take()
        if self._is_sealed and self._last < self._timestamp_max:
            message = (
                f"ends at timestamp {self._last}, the segment at {self._timestamp_max}"
            )
            self._findings.damage(_CODE, self._name, message)

    def _compare_below(self, end_offset: int) -> None:
        while self._next is not None:
            at, (timestamp, relative_offset) = self._next
            offset = self._base_offset + relative_offset
            if offset >= end_offset:
                return
            if not self._is_behind_damage:  # else its batch is lost
                self._compare(at, timestamp, offset)
            self._last = timestamp
            self._take()

    def _compare(self, at: int, timestamp: int, offset: int) -> None:
        if timestamp <= self._last:
            self._wrong(at, f"timestamp {timestamp} follows {self._last}")
        elif timestamp < self._timestamp_max or (
            timestamp > self._timestamp_max and not self._saw_damage
        ):
            self._wrong(
                at,
                f"says timestamp {timestamp} for offset {offset}, up to which the"
                f" largest is {self._timestamp_max}",
            )

"""The damaged ranges of a partition's segments, which readers pass over.

They are kept in the file ``quarantine`` beside the segments, so that they survive a
restart without another scan. Apache Kafka does not know the file and leaves it alone.

Invariants:
- The ranges of one segment lie apart, in the order of their bytes.
- Once a log is loaded, no range spans offsets of another segment, or such as are still
  to be given: who reads passes over all that it spans.
"""

import logging
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.files import Files, StorageFailure
from odradek.storage.formats.checkpoint import CheckpointError
from odradek.storage.formats.quarantine_entry import (
    QuarantineEntry,
    format_quarantine,
    parse_quarantine,
)
from odradek.storage.scan.result import OffsetRepair
from odradek.storage.segment.damage_extent import Damage, find_extent
from odradek.storage.values.file_names import LOG, segment_path
from odradek.storage.values.log_lines import LogLines

if TYPE_CHECKING:
    from odradek.storage.segment.log_segment import LogSegment

QUARANTINE_NAME: Final = "quarantine"

_log = logging.getLogger(__name__)


class Quarantine:
    """The damaged ranges of one partition directory, and the file that keeps them."""

    __slots__ = (
        "_by_segment",
        "_directory",
        "_files",
    )

    def __init__(self, files: Files, directory: Path) -> None:
        """An empty one; the file is neither read nor made."""
        self._files = files
        self._directory = directory
        self._by_segment: dict[int, list[QuarantineEntry]] = {}

    @classmethod
    def load(cls, files: Files, directory: Path) -> "Quarantine":
        """What the file says. One that cannot be read is reported, and empty.

        Nothing is lost with it: damage is found again when it is read.
        """
        quarantine = cls(files, directory)
        path = directory / QUARANTINE_NAME
        try:
            entries = parse_quarantine(files.read_bytes(path).decode())
        except FileNotFoundError:
            return quarantine
        except (CheckpointError, UnicodeDecodeError) as error:
            lines = LogLines(_log, directory)
            lines.warning("%s; the quarantine begins anew", error)
            return quarantine
        for entry in entries:
            quarantine._put(entry)
        return quarantine

    def __iter__(self) -> Iterator[QuarantineEntry]:
        for base_offset in sorted(self._by_segment):
            yield from self._by_segment[base_offset]

    def __len__(self) -> int:
        return sum(map(len, self._by_segment.values()))

    def of_segment(self, base_offset: int) -> Sequence[QuarantineEntry]:
        """The ranges in the segment with this base offset, in order."""
        return tuple(self._by_segment.get(base_offset, ()))

    def add(self, entry: QuarantineEntry) -> bool:
        """Take in a range, durably, and report it. False when it is covered already.

        It is merged with ranges that it overlaps. If the file cannot be written, the
        range is known until the next restart only.
        """
        if not self._put(entry):
            return False
        path = segment_path(self._directory, entry.segment_base, LOG)
        _, start, end, base_offset, last_offset, reason, _ = entry
        LogLines(_log, self._directory).error(
            "%s: bytes %d to %d, offsets %d to %d, are passed over: %s",
            *(path.name, start, end, base_offset, last_offset, reason),
        )
        self._write()
        return True

    def examine(self, segment: "LogSegment", position: int, next_base: int) -> Damage:
        """The damage that a reader has met at or before ``position``.

        A range ends where the next valid batch begins, or at the end of the segment,
        with the offset below ``next_base``: the next segment's base or the log end.
        """
        return find_extent(
            segment.reader, position, next_base, self.of_segment(segment.base_offset)
        )

    def take(self, segment: "LogSegment", damage: Damage) -> bool:
        """Put right what can be, else have readers pass over it.

        False when they do already.

        Raises:
            StorageFailure: the disk fails.
        """
        if isinstance(damage, OffsetRepair):
            try:
                segment.put_right(damage)
                return True
            except StorageFailure:
                raise
            except KafkaStorageError as error:
                _log.warning("%s cannot be put right: %s", segment.log.path, error)
            damage = QuarantineEntry(
                segment.base_offset,
                damage.position,
                damage.position + damage.size,
                damage.base_offset,
                damage.last_offset,
                damage.reason,
                damage.leader_epoch,
            )
        if not self.add(damage):
            return False
        segment.reader.quarantined = self.of_segment(segment.base_offset)
        return True

    def bound(self, segment_base: int, limit: int) -> None:
        """Have the ranges of a segment end below the offset ``limit``."""
        if any(each.last_offset >= limit for each in self.of_segment(segment_base)):
            self._keep(
                [
                    each
                    if each.segment_base != segment_base
                    else each._replace(
                        base_offset=min(each.base_offset, limit),
                        last_offset=min(each.last_offset, limit - 1),
                    )
                    for each in self
                ]
            )

    def truncate_from_end(self, offset: int) -> None:
        """Forget the ranges with offsets from ``offset`` on: they were cut."""
        kept = []
        for entry in self:
            if entry.base_offset < offset <= entry.last_offset:
                # Its bytes were cut; the offsets below are skipped all the same.
                entry = entry._replace(end=entry.start, last_offset=offset - 1)
            if entry.last_offset < offset and entry.base_offset <= offset:
                kept.append(entry)
        self._keep(kept)

    def truncate_from_start(self, first_base: int) -> None:
        """Forget the ranges of segments below ``first_base``: they were deleted."""
        self._keep([entry for entry in self if entry.segment_base >= first_base])

    def clear(self) -> None:
        """Forget every range."""
        self._keep(())

    def encode(self) -> bytes:
        """The text of the file."""
        return format_quarantine(self).encode()

    def moved(self, directory: Path) -> None:
        """The partition's directory has another name now."""
        self._directory = directory

    def _put(self, entry: QuarantineEntry) -> bool:
        ranges = self._by_segment.get(entry.segment_base, [])
        apart = []
        for other in ranges:
            if _covers(other, entry):
                return False
            if _overlaps(other, entry):
                entry = _merged(entry, other)
            else:
                apart.append(other)
        self._by_segment[entry.segment_base] = sorted([*apart, entry])
        return True

    def _keep(self, entries: Sequence[QuarantineEntry]) -> None:
        kept: dict[int, list[QuarantineEntry]] = {}
        for entry in entries:
            kept.setdefault(entry.segment_base, []).append(entry)
        if kept != self._by_segment:
            self._by_segment = kept
            self._write()

    def _write(self) -> None:
        path = self._directory / QUARANTINE_NAME
        try:
            if self._by_segment:
                self._files.write_atomic(path, self.encode())
            else:
                self._files.unlink(path)
        except KafkaStorageError as error:
            lines = LogLines(_log, self._directory)
            lines.warning("%s cannot be written: %s", path.name, error)


def _covers(outer: QuarantineEntry, inner: QuarantineEntry) -> bool:
    return (
        outer.start <= inner.start
        and inner.end <= outer.end
        and outer.base_offset <= inner.base_offset
        and inner.last_offset <= outer.last_offset
    )


def _overlaps(one: QuarantineEntry, other: QuarantineEntry) -> bool:
    if one.start == one.end == other.start == other.end:
        first, last = sorted((one, other), key=attrgetter("base_offset"))
        return last.base_offset <= first.last_offset + 1
    return max(one.start, other.start) < min(one.end, other.end)


def _merged(new: QuarantineEntry, old: QuarantineEntry) -> QuarantineEntry:
    return new._replace(
        start=min(new.start, old.start),
        end=max(new.end, old.end),
        base_offset=min(new.base_offset, old.base_offset),
        last_offset=max(new.last_offset, old.last_offset),
        leader_epoch=max(new.leader_epoch, old.leader_epoch),
    )

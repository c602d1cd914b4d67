"""The segments of one partition as they lie in its directory.

Nothing here is trusted: index entries only point to batches once these were looked at,
and files may be renamed or removed while somebody reads.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from odradek.pipeline.errors import SourceError
from odradek.protocol.errors import CorruptMessage
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    CURRENT_MAGIC,
    BatchHeader,
    read_header,
)
from odradek.storage.formats.checkpoint import CheckpointError
from odradek.storage.formats.index_entry import INDEX_ENTRY_SIZE, used_size
from odradek.storage.formats.quarantine_entry import QuarantineEntry, parse_quarantine
from odradek.storage.formats.transaction_entry import (
    TransactionEntry,
    parse_transaction_index,
)

if TYPE_CHECKING:
    from pathlib import Path

_NAME_DIGITS = 20
_QUARANTINE = "quarantine"


class SegmentFile(NamedTuple):
    """One ``.log``; ``next_base`` is the base offset of the one behind it, if any."""

    path: Path
    base_offset: int
    next_base: int | None
    size: int
    inode: int

    def side_file(self, suffix: str) -> Path:
        """The file of the same segment with another suffix."""
        return self.path.with_suffix(suffix)


class Cut(NamedTuple):
    """Where a batch begins: a place at which a segment may be cut.

    ``offset`` is that of its first record, ``next_offset`` the one behind its last.
    """

    position: int
    offset: int
    next_offset: int


def list_segments(directory: Path) -> list[SegmentFile]:
    """The segments of a partition, in their order; those without a name are gone."""
    bases = sorted(
        int(name[:_NAME_DIGITS])
        for name in os.listdir(directory)
        if name.endswith(".log") and name[:-4].isdecimal() and len(name) == 24
    )
    found = []
    for base, behind in zip(bases, [*bases[1:], None], strict=True):
        path = directory / f"{base:020d}.log"
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        found.append(SegmentFile(path, base, behind, status.st_size, status.st_ino))
    return found


class SegmentIndex:
    """The batches that a segment's ``.index`` points to; looked at when asked for.

    A log on a cold disk would otherwise be read by looking at its headers.
    """

    def __init__(self, segment: SegmentFile) -> None:
        self._segment = segment
        try:
            data = segment.side_file(".index").read_bytes()
        except FileNotFoundError:
            data = b""
        entries = np.frombuffer(data[: used_size(data, INDEX_ENTRY_SIZE)], ">i4")
        self._offsets = entries[0::2].astype(np.int64) + segment.base_offset
        self._positions = entries[1::2].astype(np.int64)
        if (np.diff(self._offsets) <= 0).any() or (np.diff(self._positions) <= 0).any():
            self._offsets = self._positions = np.empty(0, np.int64)  # of no use

    def before_offset(self, offset: int) -> Cut:
        """A batch with no wanted one before it; the first when the index has none."""
        place = int(np.searchsorted(self._offsets, offset, "right")) - 1
        return self._backwards(place) or self._first

    def behind_offset(self, offset: int) -> Cut | None:
        """A batch that begins behind ``offset``; None for the end of the file."""
        place = int(np.searchsorted(self._offsets, offset, "left")) + 1
        for each in range(place, len(self._offsets)):
            if (cut := self._cut(each)) is not None:
                return cut
        return None

    def within(self, position: int, end: int) -> Cut | None:
        """The last batch that begins behind ``position`` and not behind ``end``."""
        place = int(np.searchsorted(self._positions, end, "right")) - 1
        cut = self._backwards(place)
        return cut if cut is not None and cut.position > position else None

    def behind_position(self, position: int) -> Cut | None:
        """The first batch that begins behind ``position``."""
        place = int(np.searchsorted(self._positions, position, "right"))
        for each in range(place, len(self._positions)):
            if (cut := self._cut(each)) is not None:
                return cut
        return None

    def last(self) -> Cut:
        """The last batch that the index knows; the first when it knows none."""
        return self._backwards(len(self._offsets) - 1) or self._first

    @property
    def _first(self) -> Cut:
        return Cut(0, self._segment.base_offset, self._segment.base_offset)

    def _backwards(self, place: int) -> Cut | None:
        for each in range(place, -1, -1):
            if (cut := self._cut(each)) is not None:
                return cut
        return None

    def _cut(self, place: int) -> Cut | None:
        """What an entry points to; None when that is no batch that ends there."""
        position = int(self._positions[place])
        header = _header_at(self._segment, position)
        if header is None or header.last_offset != self._offsets[place]:
            return None
        return Cut(position, header.base_offset, header.next_offset)


def _header_at(segment: SegmentFile, position: int) -> BatchHeader | None:
    if not 0 < position <= segment.size - BATCH_OVERHEAD:
        return None
    try:
        with segment.path.open("rb", buffering=0) as log:
            header = read_header(os.pread(log.fileno(), BATCH_OVERHEAD, position))
    except (CorruptMessage, FileNotFoundError):
        return None
    fits = BATCH_OVERHEAD <= header.size <= segment.size - position
    if not fits or header.magic != CURRENT_MAGIC:
        return None
    return header if header.base_offset >= segment.base_offset else None


def list_quarantined(directory: Path) -> list[QuarantineEntry]:
    """The ranges that the broker found damaged and passes over.

    Raises:
        SourceError: there is a quarantine that cannot be read.
    """
    path = directory / _QUARANTINE
    try:
        return parse_quarantine(path.read_text())
    except FileNotFoundError:
        return []
    except (CheckpointError, ValueError) as error:
        raise SourceError(f"{path}: {error}. `odradek fsck` says more.") from None


def list_aborted(segment: SegmentFile) -> list[TransactionEntry]:
    """The transactions of which the end in this segment says that they were aborted.

    Raises:
        SourceError: there is a transaction index that cannot be read.
    """
    path = segment.side_file(".txnindex")
    try:
        return parse_transaction_index(path.read_bytes())
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise SourceError(
            f"{path}: {error}; without it nobody knows which transactions were aborted."
            " A broker that starts on the directory makes it anew."
        ) from None

"""The segments of one partition as they lie in its directory.

Nothing here is trusted: index entries only point to batches once these were looked at,
and files may be renamed or removed while somebody reads.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from protocol.errors import CorruptMessage
from protocol.record_batch import (
    BATCH_OVERHEAD,
    CURRENT_MAGIC,
    BatchHeader,
    read_header,
)
from storage.formats.checkpoint import CheckpointError
from storage.formats.index_entry import parse_index
from storage.formats.quarantine_entry import QuarantineEntry, parse_quarantine
from storage.formats.transaction_entry import (
    TransactionEntry,
    parse_transaction_index,
)

from .errors import SourceError

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


def list_cuts(segment: SegmentFile) -> list[Cut]:
    """The batches that the index points to, as far as it is right; in order."""
    try:
        data = segment.side_file(".index").read_bytes()
    except FileNotFoundError:
        return []
    cuts: list[Cut] = []
    try:
        log = os.open(segment.path, os.O_RDONLY)
    except FileNotFoundError:
        return []
    try:
        for relative_offset, position in parse_index(data):
            header = _header_at(log, position, segment.size)
            last_offset = segment.base_offset + relative_offset
            if header is None or header.last_offset != last_offset:
                continue
            if not cuts or cuts[-1].next_offset <= header.base_offset:
                cuts.append(Cut(position, header.base_offset, header.next_offset))
    finally:
        os.close(log)
    return cuts


def _header_at(log: int, position: int, size: int) -> BatchHeader | None:
    if not 0 <= position <= size - BATCH_OVERHEAD:
        return None
    try:
        header = read_header(os.pread(log, BATCH_OVERHEAD, position))
    except CorruptMessage:
        return None
    fits = BATCH_OVERHEAD <= header.size <= size - position
    return header if fits and header.magic == CURRENT_MAGIC else None


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

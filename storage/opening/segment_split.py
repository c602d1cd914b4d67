"""Splits a segment whose offsets are too far from its base to be indexed.

Old cleaners of Apache Kafka could merge segments into one with more than 2^31-1
between its base and its last offset (KAFKA-6264). No index entry can say that, so the
segment is made into several, each of which begins with the first batch that the one
before it cannot hold. Every byte is kept.

The steps, each durable before the next, so that a crash between any two is undone or
finished by `leftovers`:

1. the parts are written as ``.log.cleaned``, and so is the share of each in the
   transaction index: undone;
2. they are renamed to ``.swap``, the highest first: while one ``.cleaned`` is left, the
   lowest is, and all of them are undone;
3. `remove_leftovers` finishes the swap, as any other.

Offset and time indexes are not written: a segment without them gets new ones when it is
opened.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.files import File, Files
from odradek.storage.formats.index_entry import RELATIVE_OFFSET_MAX
from odradek.storage.formats.transaction_entry import pack_transaction_entry
from odradek.storage.indexes.mapped_index import CorruptIndex
from odradek.storage.indexes.transaction_index import TransactionIndex
from odradek.storage.scan.batch_scan import BatchScan, Expected
from odradek.storage.values.file_names import (
    CLEANED,
    LOG,
    SWAP,
    TRANSACTION_INDEX,
    segment_path,
)
from odradek.storage.values.log_lines import LogLines

from .leftovers import remove_leftovers

_CHUNK_SIZE = 4 << 20

_log = logging.getLogger(__name__)


class SegmentPart(NamedTuple):
    """A new segment: its base offset, and its bytes in the old one."""

    base_offset: int
    start: int
    end: int


def split_overflows(
    files: Files, directory: Path, bases: Sequence[int], recovery_point: int
) -> list[int]:
    """Split the segments that need it. Returns the base offsets that are new.

    ``bases`` are those of all segments. Only where the next base, or at the end the
    recovery point, is far enough is a segment looked at: a batch beyond that is
    damaged, not far.
    """
    made: list[int] = []
    for base_offset, limit in zip(bases, [*bases[1:], recovery_point], strict=True):
        if limit - base_offset <= RELATIVE_OFFSET_MAX + 1:
            continue
        parts = find_parts(files, directory, base_offset, limit)
        if len(parts) > 1:
            _split(files, directory, base_offset, parts)
            made += [part.base_offset for part in parts[1:]]
    return made


def find_parts(
    files: Files, directory: Path, base_offset: int, limit: int
) -> list[SegmentPart]:
    """The parts of a segment with offsets below ``limit``; one, when it is sound."""
    log = files.open(segment_path(directory, base_offset, LOG))
    starts = [(base_offset, 0)]
    expected = Expected(relative_offset_max=limit - base_offset - 1)
    scan = BatchScan(log, 0, base_offset, expected=expected)
    for position, header, _ in scan:
        if header.last_offset - starts[-1][0] > RELATIVE_OFFSET_MAX:
            starts.append((header.base_offset, position))
    ends = [position for _, position in starts[1:]] + [log.size]
    log.close()
    return [
        SegmentPart(base, start, end)
        for (base, start), end in zip(starts, ends, strict=True)
    ]


def _split(
    files: Files, directory: Path, base_offset: int, parts: Sequence[SegmentPart]
) -> None:
    path = segment_path(directory, base_offset, LOG)
    LogLines(_log, directory).warning(
        "%s spans too many offsets: split into %d", path.name, len(parts)
    )
    names: list[Path] = []
    try:
        source = files.open(path)
        for part in parts:
            names += [_write_log(files, directory, source, part)]
        source.close()
        names += _write_transactions(files, directory, base_offset, parts)
    except KafkaStorageError:
        for name in names:
            files.unlink(name)
        raise
    files.sync_directory(directory)
    for name in sorted(names, reverse=True):
        files.rename(name, name.with_name(name.name.removesuffix(CLEANED) + SWAP))
    remove_leftovers(files, directory)
    files.sync_directory(directory)


def _write_log(files: Files, directory: Path, source: File, part: SegmentPart) -> Path:
    path = segment_path(directory, part.base_offset, LOG + CLEANED)
    file = files.open(path, create=True)
    file.truncate(0)
    position = part.start
    while position < part.end:
        data = source.read_at(position, min(part.end - position, _CHUNK_SIZE))
        file.append(data)
        position += len(data)
    file.sync()
    file.close()
    return path


def _write_transactions(
    files: Files, directory: Path, base_offset: int, parts: Sequence[SegmentPart]
) -> list[Path]:
    """Give each part the aborted transactions whose marker is in it."""
    path = segment_path(directory, base_offset, TRANSACTION_INDEX)
    try:
        entries = TransactionIndex(files, path, base_offset).entries()
    except CorruptIndex as error:
        # The first part will have to do without; it is made when it is missed.
        lines = LogLines(_log, directory)
        lines.warning("%s: dropped with the segment that is split", error)
        return []
    made = []
    bases = [part.base_offset for part in parts]
    for base, end in zip(bases, [*bases[1:], 1 << 63], strict=True):
        data = b"".join(
            pack_transaction_entry(entry)
            for entry in entries
            if base <= entry.last_offset < end
        )
        if data:
            made.append(segment_path(directory, base, TRANSACTION_INDEX + CLEANED))
            file = files.open(made[-1], create=True)
            file.truncate(0)
            file.append(data)
            file.sync()
            file.close()
    return made

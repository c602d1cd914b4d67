"""The entries of ``.index``, ``.timeindex`` and ``.txnindex``, with absolute offsets.

Entries that contradict each other are shown all the same, with what is wrong behind
them. Zeros at the end are Kafka's preallocation.
"""

from collections.abc import Iterator
from struct import Struct

from odradek.protocol.record_batch import BATCH_OVERHEAD, read_header
from odradek.storage.files.file_system import File
from odradek.storage.formats.index_entry import (
    INDEX_ENTRY,
    INDEX_ENTRY_SIZE,
    TIME_INDEX_ENTRY,
    TIME_INDEX_ENTRY_SIZE,
)
from odradek.storage.formats.transaction_entry import TRANSACTION_ENTRY_SIZE

from .row import Row, damage, entry, note

_CHUNK_SIZE = 1 << 20
_TRANSACTION_ENTRY = Struct(">hqqqq")
_TRANSACTION_VERSION = 0


def dump_index(index: File, base_offset: int, log: File | None) -> Iterator[Row]:
    """Offsets and positions, each compared with the batch in ``log``."""
    if log is None:
        yield note("there is no log beside it to compare the entries with")
    last = (-1, -1)
    end = used_end(index, INDEX_ENTRY_SIZE)
    for at, (relative_offset, position) in entries(index, INDEX_ENTRY, end):
        offset = base_offset + relative_offset
        yield entry(offset=offset, position=position)
        wrong = None
        if relative_offset <= last[0] or position <= last[1]:
            wrong = "offsets and positions must increase"
        elif log is not None and _last_offset_at(log, position) != offset:
            wrong = f"the log has no batch at {position} that ends at offset {offset}"
        if wrong is not None:
            yield damage(at, at + INDEX_ENTRY_SIZE, wrong)
        last = (relative_offset, position)
    yield from _rest(index, end, INDEX_ENTRY_SIZE)


def dump_time_index(index: File, base_offset: int) -> Iterator[Row]:
    """Timestamps and offsets."""
    last = (-1, -1)
    end = used_end(index, TIME_INDEX_ENTRY_SIZE)
    for at, (timestamp, relative_offset) in entries(index, TIME_INDEX_ENTRY, end):
        yield entry(timestamp=timestamp, offset=base_offset + relative_offset)
        if timestamp <= last[0] or relative_offset <= last[1]:
            reason = "timestamps and offsets must increase"
            yield damage(at, at + TIME_INDEX_ENTRY_SIZE, reason)
        last = (timestamp, relative_offset)
    yield from _rest(index, end, TIME_INDEX_ENTRY_SIZE)


def dump_transaction_index(index: File) -> Iterator[Row]:
    """Aborted transactions."""
    previous = -1
    end = index.size - index.size % TRANSACTION_ENTRY_SIZE
    for at, fields in entries(index, _TRANSACTION_ENTRY, end):
        version, producer_id, first_offset, last_offset, last_stable_offset = fields
        yield entry(
            version=version,
            producerId=producer_id,
            firstOffset=first_offset,
            lastOffset=last_offset,
            lastStableOffset=last_stable_offset,
        )
        wrong = None
        if version != _TRANSACTION_VERSION:
            wrong = f"version {version} of an entry is not known"
        elif last_offset <= previous:
            wrong = "last offsets must increase"
        elif last_offset < first_offset:
            wrong = "a transaction ends before it begins"
        if wrong is not None:
            yield damage(at, at + TRANSACTION_ENTRY_SIZE, wrong)
        previous = last_offset
    yield from _rest(index, end, TRANSACTION_ENTRY_SIZE)


def entries(
    file: File, layout: Struct, end: int, start: int = 0
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Position and fields of every entry between ``start`` and ``end``."""
    chunk_size = _CHUNK_SIZE - _CHUNK_SIZE % layout.size
    while start < end:
        data = file.read_at(start, min(chunk_size, end - start))
        data = data[: len(data) - len(data) % layout.size]
        if not data:  # cut while it is being read
            return
        for fields in layout.iter_unpack(data):
            yield start, fields
            start += layout.size


def used_end(file: File, entry_size: int) -> int:
    """The position behind the last entry that is not all zeros."""
    end = file.size - file.size % entry_size
    while end > 0:
        start = max(0, end - _CHUNK_SIZE)
        filled = len(bytes(file.read_at(start, end - start)).rstrip(b"\0"))
        if filled:
            return -(-(start + filled) // entry_size) * entry_size
        end = start
    return 0


def _last_offset_at(log: File, position: int) -> int | None:
    data = log.read_at(position, BATCH_OVERHEAD) if position >= 0 else b""
    return read_header(data).last_offset if len(data) == BATCH_OVERHEAD else None


def _rest(index: File, end: int, entry_size: int) -> Iterator[Row]:
    whole = index.size - index.size % entry_size
    if end < whole:
        reason = f"{whole - end} bytes of zeros, preallocated"
        yield note(reason, position=end, end=whole)
    if whole < index.size:
        yield damage(whole, index.size, f"no whole entry of {entry_size} bytes")

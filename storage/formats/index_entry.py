"""The entries of ``.index`` and ``.timeindex``; integers are big-endian.

============ ========= ===============================================================
``.index``   int32     last offset of a batch, relative to the base of the segment
8 bytes      int32     position where that batch *starts*
``.timeindex`` int64   the largest timestamp up to here
12 bytes     int32     last offset of the batch that holds it, relative to the base
============ ========= ===============================================================

A file that Kafka preallocated ends in zeros. No offset entry is all zeros: the first
batch of a segment is never indexed, so its position is not 0.
"""

from struct import Struct
from typing import Final, NamedTuple

INDEX_ENTRY_SIZE: Final = 8
TIME_INDEX_ENTRY_SIZE: Final = 12
RELATIVE_OFFSET_MAX: Final = 2**31 - 1

INDEX_ENTRY: Final = Struct(">ii")
TIME_INDEX_ENTRY: Final = Struct(">qi")


class IndexEntry(NamedTuple):
    """Where a batch starts, by the offset at which it ends."""

    relative_offset: int
    position: int


class TimeIndexEntry(NamedTuple):
    """No record up to ``relative_offset`` has a larger timestamp than this."""

    timestamp: int
    relative_offset: int


def pack_index_entry(entry: IndexEntry) -> bytes:
    """The 8 bytes of an entry."""
    return INDEX_ENTRY.pack(*entry)


def pack_time_index_entry(entry: TimeIndexEntry) -> bytes:
    """The 12 bytes of an entry."""
    return TIME_INDEX_ENTRY.pack(*entry)


def parse_index(data: bytes | bytearray | memoryview) -> list[IndexEntry]:
    """The entries of a whole ``.index``, without the zeros at its end."""
    used = used_size(data, INDEX_ENTRY_SIZE)
    unpacked = INDEX_ENTRY.iter_unpack(memoryview(data)[:used])
    return [IndexEntry(*fields) for fields in unpacked]


def parse_time_index(data: bytes | bytearray | memoryview) -> list[TimeIndexEntry]:
    """The entries of a whole ``.timeindex``, without the zeros at its end."""
    used = used_size(data, TIME_INDEX_ENTRY_SIZE)
    unpacked = TIME_INDEX_ENTRY.iter_unpack(memoryview(data)[:used])
    return [TimeIndexEntry(*fields) for fields in unpacked]


def used_size(data: bytes | bytearray | memoryview, entry_size: int) -> int:
    """The bytes of ``data`` up to the last entry that is not all zeros.

    Looks from the end, in doubling steps: 10 MiB of preallocated zeros are not
    copied at once when the last entry is near.
    """
    end = len(data) - len(data) % entry_size
    step = 4096
    while end > 0:
        start = max(0, end - step)
        filled = len(bytes(data[start:end]).rstrip(b"\0"))
        if filled:
            return -(-(start + filled) // entry_size) * entry_size
        end, step = start, step * 2
    return 0

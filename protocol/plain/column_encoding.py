"""Records made of columns, and the partitions of their keys.

``speedups_encoding.c`` does the same some 100 times faster; this serves where it was
not built, and says what it means. Columns are buffers: a column of fields is its data,
and the position and the length of each row's field in it, int64 of this machine; a
length below 0 is null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.murmur2 import partition_of_key
from odradek.protocol.records import encode_varint

from .records import wrap_int64

if TYPE_CHECKING:
    from typing_extensions import Buffer

_LENGTH_MAX = (1 << 31) - 1
_BAD_FIELD = "A field is not in the data, or is too long for a record."


def encode_columns(  # noqa: PLR0913 - the twin of a function in C
    keys: Buffer,
    key_positions: Buffer,
    key_lengths: Buffer,
    values: Buffer,
    value_positions: Buffer,
    value_lengths: Buffer,
    headers: Buffer,
    header_positions: Buffer,
    header_lengths: Buffer,
    timestamps: Buffer,
    target: Buffer,
    first: int,
    /,
) -> tuple[int, int]:
    """Write the records of rows from ``first`` on into ``target``, while they fit.

    Of headers a row has the bytes as they are in a record, their count before them;
    without any, they are none. Returns how many rows it were, and their size; where
    the first has no room, 0 and the size that it needs. Offsets count from 0, times
    from that of the first row.

    Raises:
        BufferError: a column has no such row.
        ValueError: a field is not in the data, or makes a record too long.
    """
    times = _cells(timestamps)
    columns = [
        (memoryview(data).cast("B"), _cells(positions), _cells(lengths))
        for data, positions, lengths in (
            (keys, key_positions, key_lengths),
            (values, value_positions, value_lengths),
            (headers, header_positions, header_lengths),
        )
    ]
    ends = [min(len(positions), len(lengths)) for _, positions, lengths in columns]
    if not 0 <= first < len(times) or min(ends) < len(times):
        raise BufferError("a column has no such row")
    room = memoryview(target).cast("B")
    written = 0
    for place in range(first, len(times)):
        key, value, block = (_field(column, place) for column in columns)
        body = b"".join(
            [
                b"\x00",
                encode_varint(wrap_int64(times[place] - times[first])),
                encode_varint(place - first),
                *_with_length(key),
                *_with_length(value),
                block or b"\x00",
            ]
        )
        if len(body) > _LENGTH_MAX:
            raise ValueError(_BAD_FIELD)
        record = encode_varint(len(body)) + body
        if len(record) > len(room) - written:
            return (0, len(record)) if place == first else (place - first, written)
        room[written : written + len(record)] = record
        written += len(record)
    return len(times) - first, written


def place_keys(
    data: Buffer,
    positions: Buffer,
    lengths: Buffer,
    target: Buffer,
    partitions: int,
    /,
) -> None:
    """Write the partition of each key, of so many, as int64; -1 where it is null.

    Raises:
        BufferError: a length or room is missing, or there is no partition.
        ValueError: a key is not in the data.
    """
    column = memoryview(data).cast("B"), _cells(positions), _cells(lengths)
    found = _cells(target)
    total = len(column[1])
    if len(column[2]) < total or len(found) < total or partitions < 1:
        text = "a length and room for each key are needed, and a partition"
        raise BufferError(text)
    for place in range(total):
        key = _field(column, place)
        found[place] = -1 if key is None else partition_of_key(key, partitions)


def _cells(numbers: Buffer) -> memoryview[int]:
    return memoryview(numbers).cast("B").cast("q")


def _field(
    column: tuple[memoryview, memoryview[int], memoryview[int]], place: int
) -> bytes | None:
    data, positions, lengths = column
    position, length = positions[place], lengths[place]
    if length <= 0:
        return None if length else b""
    if not 0 <= position <= len(data) - length or length > _LENGTH_MAX:
        raise ValueError(_BAD_FIELD)
    return bytes(data[position : position + length])


def _with_length(field: bytes | None) -> tuple[bytes, ...]:
    return (b"\x01",) if field is None else (encode_varint(len(field)), field)

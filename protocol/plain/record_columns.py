"""The records of many batches as columns, in plain Python.

``speedups_columns.c`` does the same some 250 times faster; this serves where it was
not built, and says what it does.
"""

from struct import Struct
from typing import TYPE_CHECKING, Final

from odradek.protocol.record_batch import BATCH_OVERHEAD, COMPRESSION_NONE, read_header

from .records import read_varint, wrap_int64
from .records import walk_records as walk_batch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

# Of a record: offset, timestamp, position and length of key and of value, number of
# headers. The headers begin, with their count, where the value ends.
RECORD_COLUMNS: Final = 7
# Of a header: position and length of its name and of its value.
HEADER_COLUMNS: Final = 4
# Arrow's usual offsets have 32 bits.
GATHERED_SIZE_MAX: Final = 2**31 - 1

_INT64 = Struct("=q")
_OFFSET = Struct("=i")


def walk_records(
    data: "Buffer", positions: "Buffer", columns: "Buffer", /
) -> tuple[int, int]:
    """Say where the fields of all records of some batches are.

    ``positions`` is a buffer of int64: where in ``data`` each batch begins. ``columns``
    is a writable one: seven columns of equal length, one behind another. It ends before
    the first batch that is not whole, is compressed, has a malformed record, or more
    records than there is room for. Returns how many batches were walked, and how many
    records they have. Positions are in ``data``, the length of null is -1, the time
    that a broker gave is that of every record, and sums wrap.
    """
    view = memoryview(data).cast("B")
    cells = _Columns(columns, RECORD_COLUMNS)
    done = 0
    for position in _numbers(positions):
        count_before = cells.count
        try:
            _walk_batch(view, position, cells)
        except ValueError:
            cells.count = count_before
            break
        done += 1
    return done, cells.count


def walk_headers(data: "Buffer", positions: "Buffer", columns: "Buffer", /) -> int:
    """Say where the headers of records are, of which the blocks are at ``positions``.

    ``columns`` is a writable buffer of int64: four columns of equal length, one behind
    another. Returns how many headers there are.

    Raises:
        ValueError: a block is malformed, or there is no room for its headers.
    """
    block = bytes(data)
    cells = _Columns(columns, HEADER_COLUMNS)
    for place, position in enumerate(_numbers(positions)):
        try:
            _walk_block(block, position, cells)
        except ValueError:
            raise ValueError(
                f"Block {place} of headers is malformed, or has no room."
            ) from None
    return cells.count


def gather(
    data: "Buffer",
    positions: "Buffer",
    lengths: "Buffer",
    offsets: "Buffer",
    target: "Buffer",
    /,
) -> int:
    """Copy slices of ``data`` into ``target``, one behind another.

    ``positions`` and ``lengths`` are buffers of int64; a length below 1 copies nothing.
    Into ``offsets``, int32, goes where each slice begins, and at last where all end,
    which is returned. What is in ``target`` behind that is not said.

    Raises:
        ValueError: a slice is not in the data, or has no room in the target.
        BufferError: there are not as many lengths, or not one more offset.
    """
    source, room = memoryview(data).cast("B"), memoryview(target).cast("B")
    count = memoryview(positions).nbytes // _INT64.size
    if (
        memoryview(lengths).nbytes // _INT64.size < count
        or memoryview(offsets).nbytes // _OFFSET.size <= count
    ):
        raise BufferError("a length for each position and one offset more are needed")
    room_size = min(len(room), GATHERED_SIZE_MAX)
    size = 0
    for place in range(count):
        _OFFSET.pack_into(offsets, place * _OFFSET.size, size)
        (position,) = _INT64.unpack_from(positions, place * _INT64.size)
        (length,) = _INT64.unpack_from(lengths, place * _INT64.size)
        if length <= 0:
            continue
        if not 0 <= position <= len(source) - length or length > room_size - size:
            raise ValueError(
                "A slice is not in the data, or has no room in the target."
            )
        room[size : size + length] = source[position : position + length]
        size += length
    _OFFSET.pack_into(offsets, count * _OFFSET.size, size)
    return size


class _Columns:
    """Columns of int64 in a caller's buffer, filled row by row."""

    def __init__(self, buffer: "Buffer", width: int) -> None:
        cells = memoryview(buffer).cast("B")
        self.capacity = len(cells) // (width * _INT64.size)
        self.count = 0
        self._cells = cells[: self.capacity * width * _INT64.size].cast("q")

    def add(self, *row: int) -> None:
        for column, number in enumerate(row):
            self._cells[column * self.capacity + self.count] = number
        self.count += 1


def _numbers(buffer: "Buffer") -> "Iterator[int]":
    cells = memoryview(buffer).cast("B")
    for (number,) in _INT64.iter_unpack(cells[: len(cells) // 8 * 8]):
        yield number


def _walk_batch(view: memoryview, position: int, columns: _Columns) -> None:
    if not 0 <= position <= len(view) - BATCH_OVERHEAD:
        raise ValueError
    header = read_header(view, position)
    count = header.records_count
    if (
        not BATCH_OVERHEAD <= header.size <= len(view) - position
        or header.compression != COMPRESSION_NONE
        or not 0 <= count <= columns.capacity - columns.count
    ):
        raise ValueError
    start = position + BATCH_OVERHEAD
    data = bytes(view[start : position + header.size])
    for row, _, _ in walk_batch(data, count):
        delta, offset_delta, key_at, key_length, value_at, value_length = row
        timestamp = header.max_timestamp
        if not header.is_log_append_time:
            timestamp = wrap_int64(header.base_timestamp + delta)
        columns.add(
            wrap_int64(header.base_offset + offset_delta),
            timestamp,
            start + key_at,
            key_length,
            start + value_at,
            value_length,
            read_varint(data, value_at + max(value_length, 0), len(data))[0],
        )


def _walk_block(data: bytes, position: int, columns: _Columns) -> None:
    end = len(data)
    if not 0 <= position <= end:
        raise ValueError
    count, position = read_varint(data, position, end)
    if not 0 <= count <= columns.capacity - columns.count:
        raise ValueError
    for _ in range(count):
        name_length, name_at = read_varint(data, position, end)
        if not 0 <= name_length <= end - name_at:
            raise ValueError
        length, value_at = read_varint(data, name_at + name_length, end)
        if not -1 <= length <= end - value_at:
            raise ValueError
        columns.add(name_at, name_length, value_at, length)
        position = value_at + max(length, 0)

"""The records of many batches as columns, in plain Python.

``speedups_columns.c`` does the same some 250 times faster; this serves where it was
not built, and says what it does.
"""

from struct import Struct
from typing import TYPE_CHECKING, Final

from .records_plain import read_varint, wrap_int64
from .records_plain import walk_records as walk_batch

if TYPE_CHECKING:
    from typing_extensions import Buffer

# Of a batch: start and end of its uncompressed records in the data, how many they are,
# base offset, base timestamp, and the time of all of them or HAS_OWN_TIME.
BATCH_FIELDS: Final = 6
HAS_OWN_TIME: Final = -(2**63)
# Of a record: offset, timestamp, position and length of key and of value, number of
# headers. The headers begin, with their count, where the value ends.
RECORD_COLUMNS: Final = 7
# Of a header: position and length of its name and of its value.
HEADER_COLUMNS: Final = 4
# Arrow's usual offsets have 32 bits.
GATHERED_SIZE_MAX: Final = 2**31 - 1

_BATCH = Struct("=6q")
_INT64 = Struct("=q")
_OFFSET = Struct("=i")


def walk_records(
    data: "Buffer", batches: "Buffer", columns: "Buffer", /
) -> tuple[int, int]:
    """Say where the fields of all records of some batches are.

    ``batches`` is a buffer of int64, six for each batch; ``columns`` a writable one:
    seven columns of equal length, one behind another. It ends before the first batch
    that does not lie in the data, has a malformed record, or more records than there
    is room for. Returns how many batches were walked, and how many records they have.
    Positions are in the data, the length of null is -1, offsets and timestamps wrap.
    """
    view = memoryview(data).cast("B")
    cells = _Columns(columns, RECORD_COLUMNS)
    done = 0
    rows = memoryview(batches).cast("B")
    rows = rows[: len(rows) // _BATCH.size * _BATCH.size]
    for start, end, count, *numbers in _BATCH.iter_unpack(rows):
        if not 0 <= start <= end <= len(view):
            break
        if not 0 <= count <= cells.capacity - cells.count:
            break
        count_before = cells.count
        try:
            _walk_batch(bytes(view[start:end]), start, count, numbers, cells)
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
    places = memoryview(positions).cast("B")
    places = places[: len(places) // _INT64.size * _INT64.size]
    for place, (position,) in enumerate(_INT64.iter_unpack(places)):
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


def _walk_batch(
    data: bytes, start: int, count: int, numbers: list[int], columns: _Columns
) -> None:
    base_offset, base_timestamp, append_time = numbers
    for row, _, _ in walk_batch(data, count):
        delta, offset_delta, key_at, key_length, value_at, value_length = row
        timestamp = append_time
        if append_time == HAS_OWN_TIME:
            timestamp = wrap_int64(base_timestamp + delta)
        end = value_at + max(value_length, 0)
        columns.add(
            wrap_int64(base_offset + offset_delta),
            timestamp,
            start + key_at,
            key_length,
            start + value_at,
            value_length,
            read_varint(data, end, len(data))[0],
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

"""The walk over the batches of a log, in plain Python.

``speedups.c`` does the same, 50 times faster for small batches; this serves where it
was not built, and says what it does.
"""

from typing import TYPE_CHECKING

from odradek.protocol.checksum import crc32c
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    CHECKED_POSITION,
    CURRENT_MAGIC,
    LOG_OVERHEAD,
    unpack_header,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer

# Position, base offset, next offset, largest timestamp up to there and the place of its
# batch, leader epoch, producer id, attributes.
COLUMN_COUNT = 8


def walk_batches(
    data: "Buffer",
    columns: "Buffer",
    next_offset: int,
    offset_max: int,
    checks_crc: bool,
    /,
) -> tuple[int, int]:
    """Say what the headers of the batches at the start of ``data`` hold.

    ``columns`` is a writable buffer of int64: eight columns of equal length, one behind
    another. It ends before the first batch that is not whole, not of magic 2, begins
    below ``next_offset`` or the batch before, ends above ``offset_max`` or, if asked,
    does not match its checksum; and when the columns are full. Returns how many batches
    there are, and where the last ends.
    """
    if not 0 <= offset_max < 2**63 - 1:
        raise ValueError("the largest offset is out of range")
    view = memoryview(data)
    room = memoryview(columns).cast("B")
    capacity = len(room) // (8 * COLUMN_COUNT)
    cells = room[: capacity * 8 * COLUMN_COUNT].cast("q")
    count = position = timestamp_max = place_of_max = 0
    end = len(view)
    while count < capacity and end - position >= BATCH_OVERHEAD:
        fields = unpack_header(view, position)
        base_offset, length, epoch, magic, crc, attributes, delta = fields[:7]
        size = length + LOG_OVERHEAD
        if (
            not BATCH_OVERHEAD <= size <= end - position
            or magic != CURRENT_MAGIC
            or delta < 0
            or base_offset < next_offset
            or base_offset + delta > offset_max
        ):
            break
        if checks_crc and crc != crc32c(
            view[position + CHECKED_POSITION : position + size]
        ):
            break
        timestamp, producer_id = fields[8:10]
        if not count or timestamp > timestamp_max:
            timestamp_max, place_of_max = timestamp, count
        next_offset = base_offset + delta + 1
        row = (position, base_offset, next_offset, timestamp_max, place_of_max)
        for column, value in enumerate((*row, epoch, producer_id, attributes)):
            cells[column * capacity + count] = value
        position += size
        count += 1
    return count, position

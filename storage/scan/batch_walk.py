"""Walking over the batches in a piece of a log, by three fields of their headers."""

from struct import Struct
from typing import Final

from odradek.protocol.record_batch import BATCH_OVERHEAD, LOG_OVERHEAD
from odradek.storage.files.files import Buffer

# base_offset, batch_length, and behind epoch, magic, crc and attributes
# last_offset_delta: all that a walk needs, in the first bytes of a header.
_BATCH_START = Struct(">qi11xi")
BATCH_START_SIZE: Final = _BATCH_START.size


def find_batch(data: Buffer, offset: int) -> tuple[int, int]:
    """Position and size of the first batch that ends at or above ``offset``.

    When there is none, the size is 0 and the position is where the walk ended: behind
    the last batch whose start is in ``data``, which may be behind the end of ``data``.
    A size of -1 stands for a length that no batch has.
    """
    unpack = _BATCH_START.unpack_from
    position, end = 0, len(data) - BATCH_START_SIZE
    while position <= end:
        base_offset, length, last_offset_delta = unpack(data, position)
        size = length + LOG_OVERHEAD
        if size < BATCH_OVERHEAD:
            return position, -1
        if base_offset + last_offset_delta >= offset:
            return position, size
        position += size
    return position, 0


def is_whole_batch(data: Buffer) -> bool:
    """Whether ``data`` begins with a batch and holds all of it."""
    if len(data) < BATCH_OVERHEAD:
        return False
    _, length, _ = _BATCH_START.unpack_from(data, 0)
    return bool(BATCH_OVERHEAD <= length + LOG_OVERHEAD <= len(data))


def last_offset_at(data: Buffer, position: int = 0) -> int:
    """The last offset of the batch that starts at ``position``; -1 when none does."""
    if len(data) - position < BATCH_START_SIZE:
        return -1
    base_offset, _, last_offset_delta = _BATCH_START.unpack_from(data, position)
    return int(base_offset + last_offset_delta)

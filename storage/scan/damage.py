"""What is wrong with a range of a log in which no valid batch lies.

Taken apart as far as it makes sense: a batch that is whole but for its checksum or
its offset is one part, with its header; zeros and what is no batch at all are others.
"""

from collections.abc import Iterator
from typing import NamedTuple

from odradek.protocol.checksum import crc32c
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    CHECKED_POSITION,
    CURRENT_MAGIC,
    LOG_OVERHEAD,
    BatchHeader,
    read_header,
)
from odradek.storage.files.file_system import File
from odradek.storage.formats.index_entry import RELATIVE_OFFSET_MAX

_CHUNK_SIZE = 4 << 20


class DamagedPart(NamedTuple):
    """Bytes from ``position`` up to ``end``; ``header`` when it looks like a batch."""

    position: int
    end: int
    reason: str
    header: BatchHeader | None = None
    has_valid_crc: bool = False
    is_zeros: bool = False


class LogPlace(NamedTuple):
    """Which offsets may stand somewhere in a log: what comes before, and the base."""

    base_offset: int
    next_offset: int


def damaged_parts(
    log: File, start: int, end: int, place: LogPlace
) -> Iterator[DamagedPart]:
    """What lies between ``start`` and ``end``, of which no batch was accepted."""
    position = start
    while position < end:
        part = _batch(log, position, end, place) or _rest(log, position, end)
        yield part
        if part.header is not None and part.has_valid_crc:
            place = LogPlace(place.base_offset, part.header.next_offset)
        position = part.end


def is_zeros(log: File, start: int, end: int) -> bool:
    """Whether the range holds nothing but zeros."""
    while start < end:
        piece = log.read_at(start, min(end - start, _CHUNK_SIZE))
        if not piece or bytes(piece).strip(b"\0"):
            return False
        start += len(piece)
    return True


def _batch(log: File, position: int, end: int, place: LogPlace) -> DamagedPart | None:
    data = log.read_at(position, min(BATCH_OVERHEAD, end - position))
    if len(data) < BATCH_OVERHEAD:
        return None
    header = read_header(data)
    size = header.batch_length + LOG_OVERHEAD
    if header.magic != CURRENT_MAGIC or not BATCH_OVERHEAD <= size <= end - position:
        return None
    has_valid_crc = _crc(log, position, size) == header.crc
    reason = "the checksum is wrong"
    if has_valid_crc:
        reason = _strange_offset(header, place)
    return DamagedPart(position, position + size, reason, header, has_valid_crc)


def _strange_offset(header: BatchHeader, place: LogPlace) -> str:
    if header.base_offset < place.base_offset:
        return (
            f"offset {header.base_offset} is below {place.base_offset}, where the"
            " segment begins"
        )
    if header.base_offset - place.base_offset > RELATIVE_OFFSET_MAX:
        return f"offset {header.base_offset} is too far from {place.base_offset}"
    if header.last_offset_delta < 0:
        return f"a last offset delta of {header.last_offset_delta}"
    if header.base_offset < place.next_offset:
        return f"offset {header.base_offset} follows {place.next_offset - 1}"
    return f"offset {header.base_offset} contradicts the batch that follows"


def _rest(log: File, position: int, end: int) -> DamagedPart:
    # Fewer zeros may be the beginning of a batch: its length is at byte 8.
    if end - position >= LOG_OVERHEAD and is_zeros(log, position, end):
        return DamagedPart(position, end, "nothing but zeros", is_zeros=True)
    data = log.read_at(position, min(BATCH_OVERHEAD, end - position))
    if len(data) < BATCH_OVERHEAD:
        return DamagedPart(position, end, "too short for the header of a batch")
    header = read_header(data)
    if header.magic > CURRENT_MAGIC and header.batch_length > 0:
        reason = f"no batch of a known version: magic {header.magic}"
    elif header.magic in (0, 1) and header.batch_length > 0:
        reason = f"a message set of magic {header.magic}, which Kafka 4 cannot read"
    elif header.magic == CURRENT_MAGIC and header.batch_length > 0:
        size = header.batch_length + LOG_OVERHEAD
        reason = f"a batch of {size} bytes, of which {end - position} are here"
    else:
        reason = "no batch"
    return DamagedPart(position, end, reason)


def _crc(log: File, position: int, size: int) -> int:
    crc, position, end = 0, position + CHECKED_POSITION, position + size
    while position < end:
        piece = log.read_at(position, min(end - position, _CHUNK_SIZE))
        if not piece:
            return -1
        crc = crc32c(piece, crc)
        position += len(piece)
    return crc

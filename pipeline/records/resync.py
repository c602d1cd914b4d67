"""The next sound batch behind damage, wherever it begins."""

from __future__ import annotations

import numpy as np

from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    CURRENT_MAGIC,
    LOG_OVERHEAD,
    check_crc,
    read_header,
)

OFFSET_MAX = 2**63 - 2

_MAGIC_POSITION = 16
_LENGTH_POSITION = 8
_PIECE_SIZE = 1 << 20
# So many bytes of checksums are computed for each byte that is looked through: who
# makes bytes that look like headers everywhere shall not stop us for hours.
_EFFORT_MAX = 64


def find_sound_batch(
    data: memoryview, position: int, next_offset: int, offset_max: int = OFFSET_MAX
) -> int | None:
    """Where the first sound batch at or behind ``position`` begins; None without one.

    Its offsets are ``next_offset`` at least and ``offset_max`` at most.
    """
    effort = _EFFORT_MAX * (len(data) - position) + _PIECE_SIZE
    for start in range(position, len(data) - BATCH_OVERHEAD + 1, _PIECE_SIZE):
        for place in _candidates(data, start):
            header = read_header(data, place)
            if (
                header.base_offset < next_offset
                or header.last_offset_delta < 0
                or header.last_offset > offset_max
            ):
                continue
            if check_crc(data[place : place + header.size], header):
                return place
            effort -= header.size
            if effort < 0:
                return None
    return None


def _candidates(data: memoryview, start: int) -> list[int]:
    """Where in a piece the magic and a length say that a batch could begin."""
    end = min(start + _PIECE_SIZE, len(data) - BATCH_OVERHEAD + 1)
    octets = np.frombuffer(data, np.uint8)
    magics = octets[start + _MAGIC_POSITION : end + _MAGIC_POSITION]
    places = np.nonzero(magics == CURRENT_MAGIC)[0] + start
    lengths: np.ndarray = np.ndarray(
        (len(data) - _LENGTH_POSITION - 3,), ">i4", data, _LENGTH_POSITION, (1,)
    )
    sizes = lengths[places].astype(np.int64) + LOG_OVERHEAD
    fits = (sizes >= BATCH_OVERHEAD) & (sizes <= len(data) - places)
    found: list[int] = places[fits].tolist()
    return found

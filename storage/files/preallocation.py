"""How far ahead of its log a file is written with zeros (``preallocate``).

A sync is cheap when all that it has to write are bytes: that a file has grown, or got
new blocks, goes through the journal of the file system, which takes as long again.
So the append that reaches the end of the file writes zeros behind itself, and those
that follow write over them. Zeros, not a length or reserved blocks: either would be in
the journal when it is written to.

Never beyond ``segment.bytes``: a full segment has fewer zeros than a batch has bytes,
and to cut those takes 30 µs. A whole step takes 300, and milliseconds on a busy disk.
"""

from typing import Final

STEP_MIN: Final = 64 << 10
STEP_MAX: Final = 256 << 10
# Zeros are bytes to write, too: a step that few batches fill costs more than it saves.
APPENDS_MIN: Final = 8

_ZEROS: Final = memoryview(bytes(STEP_MAX))
# Behind every position: nothing is written ahead. And before every one.
NEVER: Final = 1 << 63
ALWAYS: Final = -1


def zeros_behind(position: int, size: int, limit: int) -> memoryview:
    """What to write behind ``size`` bytes at ``position`` in a file up to ``limit``.

    As much as the file has already, within bounds: a small log takes little room.
    """
    step = min(max(position, STEP_MIN), STEP_MAX)
    if size * APPENDS_MIN > step:
        return _ZEROS[:0]
    return _ZEROS[: max(0, min(step, limit - position - size))]

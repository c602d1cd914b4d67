"""The walk over the bytes of a segment: pieces of the file, read into one buffer.

Not mapped: a file that a broker cuts short must be an error, not a SIGBUS.
"""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.pipeline.errors import DataLoss
from odradek.pipeline.records.damage import Damage
from odradek.pipeline.records.sound_batches import WINDOW_SIZE, SoundBatches, SoundWalk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .planning import SegmentRange

_DELETED = ".deleted"

_log = logging.getLogger(__name__)


class SegmentGone(DataLoss):
    """The file of a piece was removed, or replaced by a cleaned one."""


def walk_segment(piece: SegmentRange) -> Iterator[SoundBatches | Damage]:
    """What is in a piece; each is valid until the next one is asked for.

    Raises:
        SegmentGone: before the first of them: the file is not there any more.
        DataLoss: the log ends before the offsets that were asked for.
    """
    with open_segment(piece) as log:
        name = Path(piece.path).name
        walk = SoundWalk(piece.place, name, piece.base_offset, piece.offset_max)
        position, is_damaged = piece.position, False
        buffer = memoryview(bytearray(min(WINDOW_SIZE, piece.size)))
        while position < piece.end_position:
            left = piece.end_position - position
            if walk.needed > len(buffer):
                buffer = memoryview(bytearray(min(walk.needed, left)))
            size = os.preadv(log, [buffer[:left]], position)
            if size == 0:
                break  # cut short since it was planned
            for found in walk.piece(buffer[:size], position, left):
                yield found
                is_damaged = is_damaged or isinstance(found, Damage)
                if walk.next_offset >= piece.end:
                    return
            position += walk.consumed
        if piece.reaches_end and walk.next_offset < piece.end and not is_damaged:
            raise DataLoss(
                f"{piece.path} ends at offset {walk.next_offset - 1}; there should be"
                f" records up to {piece.end - 1}."
            )


@contextmanager
def open_segment(piece: SegmentRange) -> Iterator[int]:
    """The file of a piece for reading, also once it is marked as deleted.

    Raises:
        SegmentGone: it is not there any more.
    """
    for path in _names(Path(piece.path)):
        try:
            log = os.open(path, os.O_RDONLY)
        except (FileNotFoundError, NotADirectoryError):
            continue
        try:
            if os.fstat(log).st_ino == piece.inode:
                yield log
                return
        finally:
            os.close(log)
    raise SegmentGone(
        f"{piece.path} is no longer there: retention or compaction removed offsets"
        f" {piece.start} to {piece.end - 1} of {piece.place} while they were read."
    )


def _names(path: Path) -> Iterator[Path]:
    """Where the file may be now: its directory may be marked as deleted, too."""
    yield path
    yield path.with_name(path.name + _DELETED)
    directory = path.parent
    for renamed in directory.parent.glob(f"{directory.name}.*-delete"):
        yield renamed / path.name
        yield renamed / (path.name + _DELETED)

"""The reading of an audit, on Spark: each piece is read whole, or proven to be gone.

That an executor does not find a file says nothing of the file: the machine may not see
the directory, or another one under the same path. So the driver, which has planned the
piece, looks itself. What is here and was not read ends the audit.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from odradek.pipeline.errors import SourceError
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.records.resync import OFFSET_MAX
from odradek.pipeline.segments.files import list_segments
from odradek.pipeline.segments.planning import SPLIT_BYTES, SegmentRange, plan_segments
from odradek.pipeline.segments.walk import SegmentGone, open_segment
from odradek.pipeline.workers.garbage_collection import freeze_once

from .span import PieceCut, audit_piece

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from odradek.protocol.topic_partition import TopicPartition

    from .span import AuditSpan

# Tasks of one Spark job: after each job there is something to say.
_TASKS_MIN, _TASKS_PER_CORE = 64, 16
_PIECES_MAX = 1000
_ROUNDS_MAX = 5


class Executors(Protocol):
    """Whoever reads the pieces."""

    @property
    def core_count(self) -> int:
        """How many tasks run at once."""

    def run(
        self,
        function: Callable[[Sequence[SegmentRange]], list[AuditSpan | Unread]],
        items: Sequence[Sequence[SegmentRange]],
    ) -> list[list[AuditSpan | Unread]]:
        """What the function makes of each item, in a task of its own."""


class Unread(NamedTuple):
    """What a task says of a piece that it could not read, or not all of it."""

    host: str
    reason: str


def plan_partition(directory: Path, place: TopicPartition) -> list[SegmentRange]:
    """The pieces of all that a partition has now.

    Raises:
        SourceError: a side file cannot be read.
    """
    segments = []
    with suppress(FileNotFoundError):  # the topic may be deleted
        segments = list_segments(directory / str(place))
    if not segments:
        return []
    wanted = [OffsetRange(*place, segments[0].base_offset, OFFSET_MAX)]
    return plan_segments(directory, wanted, fails_on_data_loss=False)


def audit_spans(
    executors: Executors,
    pieces: Sequence[SegmentRange],
    on_progress: Callable[[Sequence[AuditSpan]], None] | None = None,
) -> list[AuditSpan]:
    """Check the pieces on whatever Spark runs; ``on_progress`` hears of each lot.

    What retention removed meanwhile is left out; a partition whose segments were
    replaced is read again.

    Raises:
        SourceError: something that is here could not be read by an executor.
    """
    spans: list[AuditSpan] = []
    for _ in range(_ROUNDS_MAX):
        found = _read(executors, pieces, on_progress)
        replaced = _replaced(pieces, found)
        spans += [
            each
            for piece, each in zip(pieces, found, strict=True)
            if not isinstance(each, Unread) and piece.place not in replaced
        ]
        pieces = [piece for again in replaced.values() for piece in again]
        if not pieces:
            return spans
    names = ", ".join(sorted({str(piece.place) for piece in pieces}))
    raise SourceError(
        f"{names}: the segments are replaced faster than they are read; audit them when"
        " the broker compacts less."
    )


def _read(
    executors: Executors,
    pieces: Sequence[SegmentRange],
    on_progress: Callable[[Sequence[AuditSpan]], None] | None,
) -> list[AuditSpan | Unread]:
    """What was found of each piece, in their order."""
    tasks = _tasks(pieces)
    at_once = max(_TASKS_MIN, _TASKS_PER_CORE * executors.core_count)
    found: list[AuditSpan | Unread] = []
    for first in range(0, len(tasks), at_once):
        part = tasks[first : first + at_once]
        made = [each for done in executors.run(audit_task, part) for each in done]
        _check_answers([piece for task in part for piece in task], made)
        found += made
        if on_progress is not None:
            on_progress([each for each in made if not isinstance(each, Unread)])
    return found


def audit_task(pieces: Sequence[SegmentRange]) -> list[AuditSpan | Unread]:
    """What an executor finds of each piece, in their order."""
    freeze_once()
    return [audit_or_not(piece) for piece in pieces]


def audit_or_not(piece: SegmentRange) -> AuditSpan | Unread:
    """What a piece has, unless it is not there, or not as long as it was planned."""
    try:
        return audit_piece(piece)
    except SegmentGone:
        reason = "no such file"
    except PieceCut:
        reason = "a shorter file"
    except OSError as error:
        reason = error.strerror or str(error)
    return Unread(socket.gethostname(), reason)


def _check_answers(
    pieces: Sequence[SegmentRange], found: Sequence[AuditSpan | Unread]
) -> None:
    """There is an answer for every byte, and what is here was read: or an error."""
    planned = sum(piece.size for piece in pieces)
    told = sum(
        piece.size if isinstance(each, Unread) else each.size
        for piece, each in zip(pieces, found, strict=False)
    )
    if len(found) != len(pieces) or told != planned:
        raise SourceError(
            f"of {planned:,} bytes in {len(pieces)} pieces Spark has answered for"
            f" {told:,} in {len(found)}: what was not read is not known to be sound."
        )
    answers = zip(pieces, found, strict=True)
    _check_seen(
        [
            (piece, each)
            for piece, each in answers
            if isinstance(each, Unread) and _is_here(piece)
        ]
    )


def _replaced(
    pieces: Sequence[SegmentRange], found: Sequence[AuditSpan | Unread]
) -> dict[TopicPartition, list[SegmentRange]]:
    """Partitions of which other segments are there now, with their pieces."""
    answers = zip(pieces, found, strict=True)
    missing = [piece for piece, each in answers if isinstance(each, Unread)]
    replaced = {}
    for place in {piece.place for piece in missing}:
        planned = [piece for piece in pieces if piece.place == place]
        gone = {piece.inode for piece in missing if piece.place == place}
        read = {piece.inode for piece in planned} - gone
        again = plan_partition(Path(planned[0].path).parent.parent, place)
        # What has come behind the last of them is no part of this audit.
        last = max(piece.path for piece in planned)
        if any(each.inode not in read and each.path <= last for each in again):
            replaced[place] = again
    return replaced


def _is_here(piece: SegmentRange) -> bool:
    try:
        with open_segment(piece) as log:
            return os.fstat(log).st_size >= piece.end_position
    except SegmentGone:
        return False


def _check_seen(unseen: Sequence[tuple[SegmentRange, Unread]]) -> None:
    if not unseen:
        return
    hosts = ", ".join(sorted({each.host for _, each in unseen}))
    piece, first = unseen[0]
    size = sum(piece.size for piece, _ in unseen)
    raise SourceError(
        f"{hosts} could not read {piece.path} ({first.reason}), which is here:"
        f" {size:,} bytes in {len(unseen)} pieces were not read, so nothing is said of"
        " any. Every machine"
        " of Spark must see the directory under this path, as the same files (mounted,"
        " not copied, with the same inode numbers); or give --master local[*]."
    )


def _tasks(pieces: Sequence[SegmentRange]) -> list[list[SegmentRange]]:
    """Pieces that lie together, as many as are worth a task."""
    tasks: list[list[SegmentRange]] = []
    size = SPLIT_BYTES
    for piece in pieces:
        if size + piece.size > SPLIT_BYTES or len(tasks[-1]) >= _PIECES_MAX:
            tasks.append([])
            size = 0
        tasks[-1].append(piece)
        size += piece.size
    return tasks

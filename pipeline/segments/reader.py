"""The records of a piece of a segment, read from the disk: no broker is asked."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.pipeline.errors import DataLoss
from odradek.pipeline.records.damage import OnCorrupt
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.records.records_arrow import RecordsToArrow

from .planning import SegmentRange, plan_segments
from .walk import SegmentGone, walk_segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow

    from odradek.pipeline.records.columns import RecordColumns

_log = logging.getLogger(__name__)
_REPLACED_MAX = 3


def read_segments(
    piece: SegmentRange,
    columns: RecordColumns,
    *,
    on_corrupt: OnCorrupt = OnCorrupt.FAIL,
    fails_on_data_loss: bool = True,
) -> Iterator[pyarrow.RecordBatch]:
    """The records that ``piece`` asks for.

    Raises:
        DataLoss: they are not there any more, and that is to fail.
        CorruptData: a batch is damaged, and ``on_corrupt`` is FAIL.
    """

    def decode(part: SegmentRange) -> Iterator[pyarrow.RecordBatch]:
        decoder = RecordsToArrow(
            part.place,
            columns,
            aborted=part.aborted,
            on_corrupt=on_corrupt,
            source=Path(part.path).name,
        )
        for found in walk_segment(part):
            yield from decoder.rows(found, part.start, part.end)

    yield from read_pieces(piece, decode, fails_on_data_loss)


def read_pieces(
    piece: SegmentRange,
    read: Callable[[SegmentRange], Iterator[pyarrow.RecordBatch]],
    fails_on_data_loss: bool,
) -> Iterator[pyarrow.RecordBatch]:
    """What ``read`` makes of a piece, or of the cleaned segments in its place."""
    parts = [piece]
    for _ in range(_REPLACED_MAX):
        try:
            while parts:
                yield from read(parts[0])
                parts.pop(0)
            return
        except SegmentGone:
            parts = [part for old in parts for part in _again(old, fails_on_data_loss)]
        except DataLoss as error:
            if fails_on_data_loss:
                raise
            _log.warning("%s", error)
            return
    raise DataLoss(f"{piece.path} is replaced again and again.")


def _again(old: SegmentRange, fails_on_data_loss: bool) -> list[SegmentRange]:
    """The pieces that hold the same offsets now."""
    return plan_segments(
        Path(old.path).parent.parent,
        [OffsetRange(old.topic, old.partition, old.start, old.end)],
        committed=old.aborted is not None,
        fails_on_data_loss=fails_on_data_loss,
    )

"""Which bytes of which segments have to be read: the input partitions of Spark.

A range is cut where the ``.index`` says that a batch begins, about every 64 MiB, and
left out where the broker has quarantined it. A short rest stays with what is before it:
segments are often a batch longer than a round number, and a task has its price.
"""

from __future__ import annotations

import itertools
import logging
from typing import TYPE_CHECKING, NamedTuple

from odradek.pipeline.errors import DataLoss
from odradek.pipeline.records.resync import OFFSET_MAX
from odradek.protocol.topic_partition import TopicPartition

from .files import (
    SegmentFile,
    SegmentIndex,
    list_aborted,
    list_quarantined,
    list_segments,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from odradek.pipeline.records.offset_range import OffsetRange
    from odradek.storage.formats.quarantine_entry import QuarantineEntry
    from odradek.storage.formats.transaction_entry import TransactionEntry

SPLIT_BYTES = 64 << 20
# Of a piece, what is no piece of its own.
_REST = 1 / 8

_log = logging.getLogger(__name__)


class AbortedRange(NamedTuple):
    """An aborted transaction, as a broker's answer names it."""

    producer_id: int
    first_offset: int


class Border(NamedTuple):
    """A position between batches: no offset behind it is below ``offset``."""

    position: int
    offset: int


class SegmentRange(NamedTuple):
    """Bytes of one segment, from ``position`` up to ``end_position``: whole batches.

    Of their records those in [start, end) are wanted; no batch begins below
    ``base_offset`` or goes on above ``offset_max``. ``aborted`` is None for a reader
    that sees everything. ``reaches_end`` says that the log has nothing behind it.
    """

    topic: str
    partition: int
    path: str
    inode: int
    position: int
    end_position: int
    base_offset: int
    offset_max: int
    start: int
    end: int
    aborted: tuple[AbortedRange, ...] | None
    reaches_end: bool

    @property
    def place(self) -> TopicPartition:
        """The partition it is a part of."""
        return TopicPartition(self.topic, self.partition)

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return self.end_position - self.position


def plan_segments(
    directory: Path,
    wanted: Sequence[OffsetRange],
    *,
    committed: bool = False,
    split_bytes: int = SPLIT_BYTES,
    fails_on_data_loss: bool = True,
) -> list[SegmentRange]:
    """The pieces to read for some ranges of partitions of a log directory, in order.

    Raises:
        DataLoss: the log begins behind the start of a range.
        SourceError: a side file cannot be read.
    """
    return [
        piece
        for each in wanted
        if each.count > 0
        for piece in _Plan(directory, each, committed, split_bytes).pieces(
            fails_on_data_loss
        )
    ]


class _Plan:
    """Of one partition."""

    def __init__(
        self, directory: Path, wanted: OffsetRange, committed: bool, split_bytes: int
    ) -> None:
        self._directory = directory / str(wanted.place)
        self._wanted = wanted
        self._committed = committed
        self._split_bytes = split_bytes

    def pieces(self, fails_on_data_loss: bool) -> Iterator[SegmentRange]:
        wanted = self._wanted
        try:
            segments = list_segments(self._directory)
        except FileNotFoundError:
            segments = []
        first = segments[0].base_offset if segments else None
        if first is None or first > wanted.start:
            message = (
                f"{self._directory} has {'no segment' if first is None else first}"
                f" where {wanted} should begin: retention removed it, or the topic was"
                " created again. `failOnDataLoss=false` reads what is left."
            )
            if fails_on_data_loss:
                raise DataLoss(message)
            _log.warning("%s", message)
        quarantined = list_quarantined(self._directory) if segments else []
        overlapping = [
            segment
            for segment in segments
            if segment.base_offset < wanted.end
            and (segment.next_base is None or segment.next_base > wanted.start)
        ]
        aborted = self._aborted(overlapping, segments) if self._committed else None
        for segment in overlapping:
            yield from self._segment(segment, quarantined, aborted)

    def _segment(
        self,
        segment: SegmentFile,
        quarantined: Sequence[QuarantineEntry],
        aborted: Sequence[TransactionEntry] | None,
    ) -> Iterator[SegmentRange]:
        """The pieces of one segment, without what is in quarantine."""
        borders = self._borders(segment)
        gaps = [
            entry
            for entry in sorted(quarantined, key=lambda entry: entry.start)
            if entry.segment_base == segment.base_offset and entry.end > entry.start
        ]
        for first, behind in itertools.pairwise(borders):
            for start, end in _outside(first, behind, gaps):
                is_last = end.position == segment.size and segment.next_base is None
                offsets = (
                    max(self._wanted.start, start.offset),
                    min(self._wanted.end, end.offset),
                )
                yield SegmentRange(
                    self._wanted.topic,
                    self._wanted.partition,
                    str(segment.path),
                    segment.inode,
                    start.position,
                    end.position,
                    start.offset,
                    OFFSET_MAX if is_last else end.offset - 1,
                    *offsets,
                    None if aborted is None else _aborted_within(aborted, *offsets),
                    reaches_end=is_last,
                )

    def _borders(self, segment: SegmentFile) -> list[Border]:
        """Where the segment is cut: its wanted start, places on the way, its end."""
        index = SegmentIndex(segment)
        first, last = index.before_offset(self._wanted.start), None
        if segment.next_base is None or segment.next_base > self._wanted.end:
            last = index.behind_offset(self._wanted.end - 1)
        end = Border(segment.size, segment.next_base or self._wanted.end)
        if last is not None:
            end = Border(last.position, last.offset)
        borders = [Border(first.position, first.offset)]
        size_max = int(self._split_bytes * (1 + _REST))
        while end.position - (position := borders[-1].position) > size_max:
            cut = index.within(position, position + self._split_bytes)
            cut = cut or index.behind_position(position)
            if cut is None or cut.position >= end.position:
                break
            borders.append(Border(cut.position, cut.offset))
        return [*borders, end]

    def _aborted(
        self, overlapping: Sequence[SegmentFile], segments: Sequence[SegmentFile]
    ) -> list[TransactionEntry]:
        """What was aborted among the wanted offsets; the end marker may lie behind."""
        found: list[TransactionEntry] = []
        for segment in segments:
            if overlapping and segment.base_offset < overlapping[0].base_offset:
                continue
            entries = list_aborted(segment)
            found += entries
            if any(entry.last_stable_offset >= self._wanted.end for entry in entries):
                break
        return found


def _aborted_within(
    entries: Sequence[TransactionEntry], start: int, end: int
) -> tuple[AbortedRange, ...]:
    """Those that reach into [start, end): one that ended before would never end."""
    return tuple(
        AbortedRange(entry.producer_id, entry.first_offset)
        for entry in entries
        if entry.last_offset >= start and entry.first_offset < end
    )


def _outside(
    start: Border, end: Border, gaps: Sequence[QuarantineEntry]
) -> Iterator[tuple[Border, Border]]:
    """What is left between two borders without the gaps, which are in order."""
    for gap in gaps:
        if gap.end <= start.position or gap.start >= end.position:
            continue
        if gap.start > start.position:
            yield start, Border(gap.start, gap.base_offset)
        start = Border(gap.end, gap.last_offset + 1)
    if start.position < end.position:
        yield start, end

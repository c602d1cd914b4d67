"""The audit of a data directory: every batch, on Spark, and a report.

*Damage* is what no stop of a broker leaves: bytes that hold no valid batch, offsets
that go back, what the broker has in quarantine. A *note* is worth a look: offsets that
are missing without compaction, or the end of a log that a broker was writing.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from storage.formats.checkpoint import CheckpointError, parse_offsets

from .audit_span import NO_OFFSET, AuditSpan, audit_piece
from .errors import SourceError
from .garbage_collection import freeze_once
from .offset_range import OffsetRange
from .resync import OFFSET_MAX
from .segment_files import list_quarantined, list_segments
from .segment_planning import SPLIT_BYTES, SegmentRange, plan_segments
from .segment_walk import SegmentGone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from protocol.topic_partition import TopicPartition

    from .segment_directory import DataDirectory

_RECOVERY_POINTS = "recovery-point-offset-checkpoint"
# Tasks of one Spark job: after each job there is something to say.
_TASKS_MIN, _TASKS_PER_CORE = 64, 16
_PIECES_MAX = 1000


class Finding(NamedTuple):
    """One thing that an audit found; ``segment`` is the base offset of a file."""

    topic: str
    partition: int
    is_damage: bool
    segment: int | None
    position: int | None
    end: int | None
    next_offset: int | None
    message: str

    def __str__(self) -> str:
        kind = "DAMAGE" if self.is_damage else "note"
        file = "" if self.segment is None else f"{self.segment:020d}.log, "
        where = f"bytes {self.position} to {self.end}, "
        where = "" if self.position is None else where
        offset = "" if self.next_offset is None else f"offset {self.next_offset}: "
        place = f"{self.topic}-{self.partition}"
        return f"{kind} {place}: {file}{where}{offset}{self.message}"


class PartitionAudit(NamedTuple):
    """The sums of one partition; the offsets are -1 when it has no batch."""

    topic: str
    partition: int
    segments: int
    batches: int
    records: int
    size: int
    base_offset: int
    next_offset: int
    missing_offsets: int
    missing_records: int
    max_timestamp: int
    codecs: tuple[int, ...]
    transactional_batches: int
    control_batches: int
    producers: int
    damages: int


class Audit(NamedTuple):
    """What an audit found in a directory."""

    partitions: list[PartitionAudit]
    findings: list[Finding]
    spans: list[AuditSpan]

    @property
    def is_sound(self) -> bool:
        """Whether there is no damage."""
        return not any(finding.is_damage for finding in self.findings)


def plan_audit(directory: DataDirectory, topics: Sequence[str]) -> list[SegmentRange]:
    """The pieces of all partitions, or of those of some topics.

    Raises:
        SourceError: a topic has no partition here, or a side file cannot be read.
    """
    places = directory.partitions()
    for topic in topics:
        if topic not in {place.topic for place in places}:
            raise SourceError(f"{directory.path} has no partition of topic {topic}.")
    wanted = []
    for place in places:
        if topics and place.topic not in topics:
            continue
        segments = list_segments(directory.path / str(place))
        if segments:
            wanted.append(OffsetRange(*place, segments[0].base_offset, OFFSET_MAX))
    return plan_segments(directory.path, wanted, fails_on_data_loss=False)


def audit_spans(
    spark: SparkSession,
    pieces: Sequence[SegmentRange],
    on_progress: Callable[[Sequence[AuditSpan]], None] | None = None,
) -> list[AuditSpan]:
    """Check the pieces on whatever Spark runs; ``on_progress`` hears of each lot."""
    context = spark.sparkContext
    tasks = _tasks(pieces)
    at_once = max(_TASKS_MIN, _TASKS_PER_CORE * context.defaultParallelism)
    spans: list[AuditSpan] = []
    for first in range(0, len(tasks), at_once):
        part = tasks[first : first + at_once]
        done = context.parallelize(part, len(part)).map(_audit_task).collect()
        made = [span for found in done for span in found]
        spans += made
        if on_progress is not None:
            on_progress(made)
    return spans


def _audit_task(pieces: Sequence[SegmentRange]) -> list[AuditSpan]:
    freeze_once()
    return [span for piece in pieces for span in audit_piece_or_nothing(piece)]


def audit_piece_or_nothing(piece: SegmentRange) -> list[AuditSpan]:
    """What a piece has; nothing when retention removed it meanwhile."""
    try:
        return [audit_piece(piece)]
    except SegmentGone:
        return []


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


def conclude(directory: DataDirectory, spans: Iterable[AuditSpan]) -> Audit:
    """Put the spans of each partition together, and say what is wrong."""
    by_place = defaultdict(list)
    for span in spans:
        by_place[span.place].append(span)
    durable = _durable_offsets(directory.path)
    durable_min = OFFSET_MAX if directory.is_stopped else 0
    partitions, findings, ordered = [], [], []
    for place in sorted(by_place):
        part = sorted(by_place[place], key=lambda span: (span.segment, span.position))
        found = [
            *_quarantined(directory.path, place),
            *_damages(part, max(durable.get(place, 0), durable_min)),
            *_disorder(part),
        ]
        partitions.append(_sum_up(part, found))
        findings += found
        ordered += part
    return Audit(partitions, findings, ordered)


def _durable_offsets(path: Path) -> dict[TopicPartition, int]:
    """Up to where each log was durable: a stop cannot have torn what is before."""
    try:
        return parse_offsets((path / _RECOVERY_POINTS).read_text())
    except (FileNotFoundError, CheckpointError, UnicodeDecodeError):
        return {}


def _quarantined(path: Path, place: TopicPartition) -> Iterator[Finding]:
    for entry in list_quarantined(path / str(place)):
        lost = "nothing is"
        if entry.has_offsets:
            lost = f"offsets {entry.base_offset} to {entry.last_offset} are"
        yield Finding(
            *place,
            True,
            entry.segment_base,
            entry.start,
            entry.end,
            entry.base_offset,
            f"in quarantine: {entry.reason}; {lost} lost",
        )


def _damages(spans: Sequence[AuditSpan], durable: int) -> Iterator[Finding]:
    """What the walks stumbled over; the end of a log may be torn by a stop."""
    for span in spans:
        is_last = span == spans[-1]
        for damage in span.damages:
            ends_log = is_last and damage.end == span.end
            is_damage = not ends_log or damage.next_offset < durable
            reason = damage.reason
            if not is_damage:
                reason += "; torn by a stop, or being written"
            where = (span.segment, damage.position, damage.end, damage.next_offset)
            yield Finding(*span.place, is_damage, *where, reason)


def _disorder(spans: Sequence[AuditSpan]) -> Iterator[Finding]:
    """Where the offsets of a log go back, or leave some out without compaction."""
    filled = [span for span in spans if span.batches]
    missing = sum(span.missing_offsets for span in filled)
    for span, behind in pairwise(filled):
        step = behind.base_offset - span.next_offset
        if step < 0:
            yield Finding(
                *span.place,
                True,
                behind.segment,
                behind.position,
                behind.end,
                behind.base_offset,
                f"the batches before go on to offset {span.next_offset - 1}",
            )
        elif not (span.damages or behind.damages or _is_apart(span, behind)):
            missing += step
    if missing and not any(span.missing_records for span in filled):
        message = f"{missing} offsets are missing, and nothing looks compacted"
        yield Finding(*spans[0].place, False, None, None, None, None, message)


def _is_apart(span: AuditSpan, behind: AuditSpan) -> bool:
    """Whether something between them was left out: what is in quarantine."""
    return span.segment == behind.segment and span.end != behind.position


def _sum_up(spans: Sequence[AuditSpan], findings: Sequence[Finding]) -> PartitionAudit:
    filled = [span for span in spans if span.batches]
    borders = sum(
        max(0, behind.base_offset - span.next_offset)
        for span, behind in pairwise(filled)
    )
    producers = frozenset[int]().union(*(span.producers for span in spans))
    return PartitionAudit(
        *spans[0].place,
        len({span.segment for span in spans}),
        sum(span.batches for span in spans),
        sum(span.records for span in spans),
        sum(span.size for span in spans),
        filled[0].base_offset if filled else NO_OFFSET,
        filled[-1].next_offset if filled else NO_OFFSET,
        sum(span.missing_offsets for span in spans) + borders,
        sum(span.missing_records for span in spans),
        max(span.max_timestamp for span in spans),
        tuple(map(sum, zip(*(span.codecs for span in spans), strict=True))),
        sum(span.transactional_batches for span in spans),
        sum(span.control_batches for span in spans),
        len(producers),
        sum(finding.is_damage for finding in findings),
    )

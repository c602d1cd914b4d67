"""The audit of a data directory: what to read of it, and what the whole of it says.

*Damage* is what no stop of a broker leaves: bytes that hold no valid batch, offsets
that go back, what the broker has in quarantine. A *note* is worth a look: offsets that
are missing without compaction, or the end of a log that a broker was writing.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from odradek.pipeline.errors import SourceError
from odradek.pipeline.records.resync import OFFSET_MAX
from odradek.pipeline.segments.files import list_quarantined
from odradek.storage.formats.checkpoint import CheckpointError, parse_offsets

from .run import plan_partition
from .span import NO_OFFSET, AuditSpan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from odradek.pipeline.segments.directory import DataDirectory
    from odradek.pipeline.segments.planning import SegmentRange
    from odradek.protocol.topic_partition import TopicPartition

_RECOVERY_POINTS = "recovery-point-offset-checkpoint"


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
    return [
        piece
        for place in places
        if not topics or place.topic in topics
        for piece in plan_partition(directory.path, place)
    ]


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

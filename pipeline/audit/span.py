"""What an audit learns of a stretch of one segment: the work of one task."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from odradek.pipeline.errors import DataLoss
from odradek.pipeline.records.damage import Damage
from odradek.pipeline.segments.walk import open_segment, walk_segment
from odradek.protocol.record_batch import (
    CODEC_NAMES,
    COMPRESSION_MASK,
    CONTROL,
    NO_TIMESTAMP,
    TRANSACTIONAL,
)
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.pipeline.records.sound_batches import SoundBatches
    from odradek.pipeline.segments.planning import SegmentRange

NO_OFFSET = -1
# Ids of producers that are told apart in one stretch; there may be one for each batch.
PRODUCERS_MAX = 10_000
_READ_SIZE = 1 << 20


class PieceCut(DataLoss):
    """The file ends before the piece does."""


class AuditSpan(NamedTuple):
    """Sums over the bytes from ``position`` to ``end`` of a segment.

    ``base_offset`` and ``next_offset`` are those of its first and behind its last
    batch, -1 without one. ``missing_offsets`` lie between sound batches that follow
    each other, ``missing_records`` within batches: compaction removes them.
    """

    topic: str
    partition: int
    segment: int
    file: str
    position: int
    end: int
    batches: int
    records: int
    base_offset: int
    next_offset: int
    missing_offsets: int
    missing_records: int
    max_timestamp: int
    codecs: tuple[int, ...]
    transactional_batches: int
    control_batches: int
    producers: frozenset[int]
    damages: tuple[Damage, ...]

    @property
    def place(self) -> TopicPartition:
        """The partition it is a part of."""
        return TopicPartition(self.topic, self.partition)

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return self.end - self.position


def audit_piece(piece: SegmentRange) -> AuditSpan:
    """Check every batch of a piece, and that behind them are zeros at most.

    Raises:
        SegmentGone: the file is not there any more.
        PieceCut: it is shorter than it was.
    """
    sums, end = _Sums(), piece.position
    for found in walk_segment(piece._replace(reaches_end=False)):
        if isinstance(found, Damage):
            sums.damages.append(found)
            sums.is_after_damage = True
        else:
            sums.add(found)
        end = found.end
    if end < piece.end_position and not _is_zeros(piece, end):
        reason = "there is something behind the last batch of the segment"
        behind = (sums.next_offset, sums.next_offset)
        name = Path(piece.path).name
        sums.damages.append(
            Damage(piece.place, end, piece.end_position, *behind, reason, name)
        )
    name = Path(piece.path).name
    return AuditSpan(
        piece.topic,
        piece.partition,
        int(name.partition(".")[0]),
        name,
        piece.position,
        piece.end_position,
        sums.batches,
        sums.records,
        sums.base_offset,
        sums.next_offset,
        sums.missing_offsets,
        sums.missing_records,
        sums.max_timestamp,
        tuple(sums.codecs.tolist()),
        sums.transactional,
        sums.control,
        frozenset(sums.producers),
        tuple(sums.damages),
    )


def _is_zeros(piece: SegmentRange, start: int) -> bool:
    """Whether the rest of a piece is what a broker allocates ahead of its log."""
    with open_segment(piece) as log:
        for position in range(start, piece.end_position, _READ_SIZE):
            wanted = min(_READ_SIZE, piece.end_position - position)
            data = os.pread(log, wanted, position)
            if len(data) < wanted:
                end = position + len(data)
                raise PieceCut(f"{piece.path} ends at {end}, not {piece.end_position}.")
            if data.count(0) < wanted:
                return False
    return True


class _Sums:
    """What is added up on the way."""

    def __init__(self) -> None:
        self.batches = self.records = 0
        self.base_offset = self.next_offset = NO_OFFSET
        self.missing_offsets = self.missing_records = 0
        self.max_timestamp = NO_TIMESTAMP
        self.codecs = np.zeros(COMPRESSION_MASK + 1, np.int64)
        self.transactional = self.control = 0
        self.producers: set[int] = set()
        self.damages: list[Damage] = []
        self.is_after_damage = False

    def add(self, found: SoundBatches) -> None:
        counts = found.field("records_count")
        self.batches += found.length
        self.records += int(counts.sum())
        self.max_timestamp = max(
            self.max_timestamp, int(found.field("max_timestamp").max())
        )
        self._add_offsets(found, counts)
        codecs = found.attributes & COMPRESSION_MASK
        self.codecs += np.bincount(codecs, minlength=len(self.codecs))
        self.transactional += int(np.count_nonzero(found.attributes & TRANSACTIONAL))
        self.control += int(np.count_nonzero(found.attributes & CONTROL))
        if len(self.producers) < PRODUCERS_MAX:
            ids = np.unique(found.field("producer_id"))
            self.producers.update(ids[ids >= 0].tolist())

    def _add_offsets(self, found: SoundBatches, counts: np.ndarray) -> None:
        first, behind = found.base_offsets, found.next_offsets
        if self.base_offset == NO_OFFSET:
            self.base_offset = int(first[0])
        elif not self.is_after_damage:
            self.missing_offsets += int(first[0]) - self.next_offset
        self.is_after_damage = False
        self.missing_offsets += int((first[1:] - behind[:-1]).sum())
        self.missing_records += int((behind - first - counts).sum())
        self.next_offset = int(behind[-1])


def codec_counts(codecs: tuple[int, ...]) -> dict[str, int]:
    """How many batches each codec compressed; those without any are left out."""
    names = [*CODEC_NAMES, *(f"codec {n}" for n in range(len(CODEC_NAMES), 8))]
    return {name: n for name, n in zip(names, codecs, strict=True) if n}

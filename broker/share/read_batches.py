"""What a share fetch has read of a log: its batches, and which of them were aborted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.control_records import ControlType, read_marker
from odradek.protocol.record_batch import scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.storage.files.files import Buffer
    from odradek.storage.values.log_read import AbortedTransaction

    from .acquire import Acquired, Batch


class ReadBatch(NamedTuple):
    """One batch: its offsets, where it is in what was read, who wrote it."""

    first: int
    last: int
    position: int
    size: int
    producer_id: int
    is_transactional: bool
    is_control: bool


def read_batches(records: Buffer) -> list[ReadBatch]:
    """The batches that were read whole.

    Raises:
        CorruptMessage: a length that no batch can have.
    """
    return [
        ReadBatch(
            header.base_offset,
            header.last_offset,
            position,
            header.size,
            header.producer_id,
            header.is_transactional,
            header.is_control,
        )
        for position, header in scan(records)
    ]


def offsets_of(batches: Sequence[ReadBatch]) -> list[Batch]:
    """First and last offset of each."""
    return [(each.first, each.last) for each in batches]


def aborted_batches(
    batches: Sequence[ReadBatch], aborted: Sequence[AbortedTransaction], records: Buffer
) -> list[Batch]:
    """The offsets of batches that belong to aborted transactions; markers do not."""
    waiting = sorted(aborted, key=lambda each: each.first_offset, reverse=True)
    aborting: set[int] = set()
    found = []
    for batch in batches:
        while waiting and waiting[-1].first_offset <= batch.last:
            aborting.add(waiting.pop().producer_id)
        if not batch.is_transactional:
            continue
        if batch.is_control:
            view = memoryview(records)[batch.position : batch.position + batch.size]
            marker = read_marker(view)
            if marker is not None and marker.control_type is ControlType.ABORT:
                aborting.discard(batch.producer_id)
        elif batch.producer_id in aborting:
            found.append((batch.first, batch.last))
    return found


def without(
    given: Sequence[Acquired], aborted: Sequence[Batch]
) -> tuple[list[Acquired], list[Batch]]:
    """What is left of ``given`` without these offsets; and which of them were in it."""
    kept: list[Acquired] = []
    taken: list[Batch] = []
    for each in given:
        cursor = each.first
        for first, last in aborted:
            begin, end = max(first, cursor), min(last, each.last)
            if begin > end:
                continue
            if begin > cursor:
                kept.append(each._replace(first=cursor, last=begin - 1))
            taken.append((begin, end))
            cursor = end + 1
        if cursor <= each.last:
            kept.append(each._replace(first=cursor))
    return kept, taken


def slice_of(
    records: Buffer, batches: Sequence[ReadBatch], given: Sequence[Acquired]
) -> Buffer:
    """The batches from the first to the last offset that was given."""
    first, last = given[0].first, given[-1].last
    within = [each for each in batches if each.last >= first and each.first <= last]
    begin, end = within[0].position, within[-1].position + within[-1].size
    if (begin, end) == (0, len(records)):
        return records
    return memoryview(records)[begin:end]

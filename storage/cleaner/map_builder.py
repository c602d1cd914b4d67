"""Reads what was not cleaned before, and notes the last offset of each key."""

from collections.abc import Iterator

from odradek.protocol.control_records import read_marker
from odradek.protocol.record_batch import (
    COMPRESSION_MASK,
    CONTROL,
    TRANSACTIONAL,
    BatchHeader,
    read_header,
)
from odradek.protocol.records import uncompressed
from odradek.storage.files.files import Buffer, Files
from odradek.storage.scan.batch_scan import BatchScan, Expected
from odradek.storage.segment.log_segment import LogSegment

from .cleaned_transactions import CleanedTransactions
from .offset_map import OffsetMap
from .plan import CleaningPlan, DamageFound, SourceSegment

# What a batch has an attribute of that cannot be taken as it lies there.
UNUSUAL = COMPRESSION_MASK | CONTROL | TRANSACTIONAL


def build_offset_map(files: Files, plan: CleaningPlan) -> OffsetMap:
    """The map of the dirty part, or of as much of it as fits.

    Raises:
        DamageFound: a segment has to be looked at first.
        CorruptMessage, InvalidRecord: a batch holds what is no record.
    """
    offsets = OffsetMap(
        plan.map_size, plan.end_offset - plan.first_dirty_offset, plan.load_factor
    )
    offsets.advance(plan.first_dirty_offset - 1)
    transactions = CleanedTransactions(plan.aborted)
    for segment in plan.segments:
        if segment.end_offset <= plan.first_dirty_offset:
            continue
        for batches in runs_of(files, plan, segment):
            if not _put(offsets, transactions, plan.first_dirty_offset, batches):
                return offsets
        offsets.advance(min(segment.end_offset, plan.end_offset) - 1)
    return offsets


def runs_of(
    files: Files, plan: CleaningPlan, segment: SourceSegment
) -> Iterator[memoryview]:
    """The valid batches of a segment, as many at a time as lie one behind another.

    Raises:
        DamageFound: there is damage that was not known.
    """
    base_offset, end_offset = segment.base_offset, segment.end_offset
    source = LogSegment(files, plan.directory, base_offset, plan.config, plan.now_ms)
    limit = end_offset - base_offset - 1
    expected = Expected(None, end_offset, limit, True, source.indexes.claims())
    scan = BatchScan(source.log, 0, base_offset, expected=expected)
    try:
        for run in scan.runs():
            yield run.data[run.start - run.position : run.end - run.position]
    finally:
        source.close()
    found = scan.recovery()
    if not (found.is_clean or segment.has_damage):
        starts = [each.start for each in found.damaged]
        starts += [each.position for each in found.repairs]
        position = min(starts, default=found.valid_end)
        raise DamageFound(segment.base_offset, position)


def _put(
    offsets: OffsetMap,
    transactions: CleanedTransactions,
    start_offset: int,
    batches: memoryview,
) -> bool:
    position = 0
    while position < len(batches):
        walked, has_room = offsets.put(batches[position:], start_offset, UNUSUAL)
        if not has_room:
            return False
        position += walked
        if position < len(batches):
            header = read_header(batches, position)
            batch = batches[position : position + header.size]
            if not _put_unusual(offsets, transactions, start_offset, header, batch):
                return False
            position += header.size
    return True


def _put_unusual(
    offsets: OffsetMap,
    transactions: CleanedTransactions,
    start_offset: int,
    header: BatchHeader,
    batch: Buffer,
) -> bool:
    is_useless = _pass(transactions, header, batch)
    if header.last_offset < start_offset:
        return True
    if not is_useless:
        _, has_room = offsets.put(uncompressed(batch, header), start_offset)
        if not has_room:
            return False
    offsets.advance(header.last_offset)
    return True


def _pass(
    transactions: CleanedTransactions, header: BatchHeader, batch: Buffer
) -> bool:
    """Take a batch into the transactions; whether its records are of no use."""
    if not header.is_control:
        return transactions.is_aborted(header)
    marker = read_marker(batch)
    if marker is not None:
        transactions.end(header, is_commit=marker.is_commit)
    return True

"""Reads what was not cleaned before, and notes the last offset of each key."""

from collections.abc import Iterator

from protocol.control_records import read_marker
from protocol.record_batch import BatchHeader
from protocol.records import index_rows

from ..batch_scan import BatchScan
from ..files import Buffer, Files
from ..log_files import LOG, segment_path
from .cleaned_transactions import CleanedTransactions
from .offset_map import OffsetMap
from .plan import CleaningPlan, DamageFound, SourceSegment


def build_offset_map(files: Files, plan: CleaningPlan) -> OffsetMap:
    """The map of the dirty part, or of as much of it as fits.

    Raises:
        DamageFound: a segment has to be looked at first.
        CorruptMessage, InvalidRecord: a batch holds what is no record.
    """
    offsets = OffsetMap(plan.map_size)
    offsets.advance(plan.first_dirty_offset - 1)
    transactions = CleanedTransactions(plan.aborted)
    for segment in plan.segments:
        if segment.end_offset <= plan.first_dirty_offset:
            continue
        for header, batch in batches_of(files, plan, segment):
            if header.last_offset < plan.first_dirty_offset:
                _pass(transactions, header, batch)
            elif not _put(offsets, transactions, plan, header, batch):
                return offsets
        offsets.advance(min(segment.end_offset, plan.end_offset) - 1)
    return offsets


def batches_of(
    files: Files, plan: CleaningPlan, segment: SourceSegment
) -> Iterator[tuple[BatchHeader, memoryview]]:
    """The valid batches of a segment, with their headers.

    Raises:
        DamageFound: there is damage that was not known.
    """
    log = files.open(segment_path(plan.directory, segment.base_offset, LOG))
    try:
        scan = BatchScan(log, 0, segment.base_offset)
        for _, header, batch in scan:
            yield header, batch
    finally:
        log.close()
    found = scan.recovery()
    if not (found.is_clean or segment.has_damage):
        position = found.damaged[0].start if found.damaged else found.valid_end
        raise DamageFound(segment.base_offset, position)


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


def _put(
    offsets: OffsetMap,
    transactions: CleanedTransactions,
    plan: CleaningPlan,
    header: BatchHeader,
    batch: Buffer,
) -> bool:
    if not _pass(transactions, header, batch):
        data, rows = index_rows(batch, header)
        if not offsets.put_rows(header, data, rows, plan.first_dirty_offset):
            return False
    offsets.advance(header.last_offset)
    return True

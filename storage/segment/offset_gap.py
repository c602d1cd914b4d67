"""Whether offsets that a batch leaves out before it are not there, as after compaction.

Or whether the batch says a wrong offset: its checksum does not cover that. Nearly
always a look at the headers behind it is enough.
"""

from typing import TYPE_CHECKING

from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    CURRENT_MAGIC,
    BatchHeader,
    read_header,
)
from odradek.storage.scan.batch_scan import BatchScan, Expected

if TYPE_CHECKING:
    from .reader import SegmentReader

_FOLLOWERS = 8


def is_gap_before(
    reader: "SegmentReader",
    position: int,
    header: BatchHeader,
    expected_offset: int,
    may_block: bool,
) -> bool:
    """Whether the batch at ``position`` is right to say more than the next offset.

    All before it is sound, up to ``expected_offset``.

    Raises:
        ColdRead: ``may_block`` is False and the headers behind it are not cached.
    """
    if _is_followed(reader, position, header, may_block):
        return True
    expected = Expected(
        expected_offset,
        reader.end.offset,
        reader.end.limit - reader.base_offset - 1,
        reader.indexes.has_gaps,
        reader.indexes.claims(),
    )
    scan = BatchScan(reader.log, position, reader.base_offset, expected=expected)
    for at, confirmed, _ in scan:
        return at == position and confirmed.base_offset == header.base_offset
    return False


def _is_followed(
    reader: "SegmentReader", position: int, header: BatchHeader, may_block: bool
) -> bool:
    """Whether indexes and many batches behind it agree with a batch."""
    for indexed in reader.indexes.claims().between(position, position + 1):
        if indexed.offset != header.last_offset:
            return False
    for _ in range(_FOLLOWERS):
        position, next_offset = position + header.size, header.next_offset
        start = reader.log.read_at(position, BATCH_OVERHEAD, may_block)
        if len(start) < BATCH_OVERHEAD:
            return False
        header = read_header(start)
        if (
            header.magic != CURRENT_MAGIC
            or header.size < BATCH_OVERHEAD
            or header.last_offset_delta < 0
            or header.base_offset < next_offset
            or header.last_offset >= reader.end.limit
        ):
            return False
    return True

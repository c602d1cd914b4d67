"""How many records a part of a log holds, where offsets alone do not say it."""

from typing import TYPE_CHECKING

from odradek.protocol.record_batch import BatchHeader, scan
from odradek.protocol.records import iterate
from odradek.storage.values.log_read import FetchIsolation

if TYPE_CHECKING:
    from odradek.storage.files.files import Buffer

    from .unified_log import UnifiedLog

_READ_SIZE = 1 << 20


def count_records(log: "UnifiedLog", start_offset: int) -> int:
    """The records from ``start_offset`` to the log end, control records left out.

    Waits for the disk.
    """
    count, offset = 0, max(start_offset, log.log_start_offset)
    while True:
        data = log.read(offset, _READ_SIZE, FetchIsolation.LOG_END, may_block=True)
        if not len(data.records):
            return count
        records = memoryview(data.records)
        for position, header in scan(records):
            if not header.is_control:
                batch = records[position : position + header.size]
                count += _count_in(batch, header, offset)
            offset = header.next_offset


def _count_in(batch: "Buffer", header: BatchHeader, start_offset: int) -> int:
    if header.base_offset >= start_offset:
        return header.records_count
    return sum(record.offset >= start_offset for record in iterate(batch))

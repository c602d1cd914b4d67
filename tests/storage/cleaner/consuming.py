"""What a consumer makes of a log, however little it gets at a time."""

from collections.abc import Iterator
from random import Random

from odradek.protocol.control_records import read_marker
from odradek.protocol.record_batch import BatchHeader, scan
from odradek.protocol.records import Record, iterate
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.values.log_read import FetchIsolation


def consume(
    log: UnifiedLog, start: int, isolation: FetchIsolation, chance: Random
) -> Iterator[Record]:
    """The records that it hands out from ``start`` on; it comes to the end."""
    offset, end = start, log.visibility.end_offset(isolation).offset
    while offset < end:
        size_max = chance.choice([1, 300, 5000])
        data = log.read(offset, size_max, isolation, may_block=True)
        view = memoryview(data.records)
        assert len(view), f"nothing at {offset}, below {end}"
        aborted = sorted(data.aborted or (), key=lambda each: each.first_offset)
        dropped: set[int] = set()
        for position, header in scan(view):
            batch = view[position : position + header.size]
            while aborted and aborted[0].first_offset <= header.last_offset:
                dropped.add(aborted.pop(0).producer_id)
            offset = header.next_offset
            if header.is_control:
                marker = read_marker(batch) if header.records_count else None
                if marker is not None and not marker.is_commit:
                    dropped.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in dropped):
                yield from (each for each in iterate(batch) if each.offset >= start)
    assert offset == end, (start, offset, end, isolation)


def batches_from(
    log: UnifiedLog, offset: int
) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Every batch from an offset to the end of the log."""
    while True:
        data = log.read(offset, 1 << 20, FetchIsolation.LOG_END, may_block=True)
        view = memoryview(data.records)
        if not len(view):
            return
        for position, header in scan(view):
            offset = header.next_offset
            yield header, view[position : position + header.size]

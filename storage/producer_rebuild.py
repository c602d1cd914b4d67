"""The producers of a truncated log: from a snapshot, and from the log behind it."""

from .batch_scan import BatchScan
from .batch_walk import BATCH_START_SIZE, last_offset_at
from .local_log import LocalLog
from .log_segment import LogSegment
from .producer_states import ProducerStates


def rebuild_producers(
    local: LocalLog, producers: ProducerStates, log_start_offset: int, now_ms: int
) -> None:
    """Let ``producers`` be as the log has them at its end, which has fallen.

    Snapshots above it are removed. What lies in damaged ranges is not believed.
    """
    end = local.end.offset
    producers.truncate_and_reload(
        local.files, local.directory, log_start_offset, end, now_ms
    )
    start = producers.map_end_offset
    if start < end:
        for segment in local.segments.values(start, end):
            _replay(segment, producers, end)
    producers.map_end_offset = end


def _replay(segment: LogSegment, producers: ProducerStates, end: int) -> None:
    position = _indexed_position(segment, producers.map_end_offset)
    scan = BatchScan(segment.log, position, segment.base_offset, checks_crc=False)
    damaged = [(each.start, each.end) for each in segment.quarantined]
    for at, header, batch in scan:
        if header.base_offset >= end:
            return
        if any(first <= at < last for first, last in damaged):
            continue
        completed = producers.replay(header, batch)
        if completed is not None:
            producers.complete(completed)


def _indexed_position(segment: LogSegment, offset: int) -> int:
    """Where to begin reading so as not to miss ``offset``."""
    entry = segment.indexes.floor(offset)
    start = segment.log.read_at(entry.position, BATCH_START_SIZE)
    return entry.position if last_offset_at(start) == entry.offset else 0

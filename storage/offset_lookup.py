"""Offsets by time, and the four questions that ListOffsets asks with a negative one.

What a client may see is the caller's business: these look at the whole log.
"""

from typing import Final

from .leader_epochs import NO_EPOCH, LeaderEpochs
from .local_log import LocalLog
from .log_read import TimestampOffset
from .time_index import NO_TIMESTAMP

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4


def find_offset(
    local: LocalLog,
    epochs: LeaderEpochs,
    log_start_offset: int,
    timestamp: int,
    may_block: bool = True,
) -> TimestampOffset | None:
    """The first record that is not earlier than ``timestamp``; None when all are.

    `LATEST` asks for the log end, `EARLIEST` and `EARLIEST_LOCAL` for the log start,
    `MAX_TIMESTAMP` for the record with the largest timestamp.

    Raises:
        ColdRead: ``may_block`` is False and the bytes are not cached.
        CorruptMessage: a batch on the way is damaged.
    """
    if timestamp == LATEST:
        end = local.end.offset
        return TimestampOffset(NO_TIMESTAMP, end, epochs.latest_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return _earliest(epochs, log_start_offset)
    if timestamp == MAX_TIMESTAMP:
        return _with_max_timestamp(local, may_block)
    for segment in local.segments:
        if segment.max_timestamp >= timestamp:
            found = segment.find_offset_by_timestamp(
                timestamp, log_start_offset, may_block
            )
            if found is not None:
                return found
    return None


def _earliest(epochs: LeaderEpochs, log_start_offset: int) -> TimestampOffset:
    first = epochs.earliest
    if first is None or first.start_offset > log_start_offset:
        return TimestampOffset(NO_TIMESTAMP, log_start_offset, NO_EPOCH)
    return TimestampOffset(NO_TIMESTAMP, log_start_offset, first.epoch)


def _with_max_timestamp(local: LocalLog, may_block: bool) -> TimestampOffset | None:
    # As in Apache Kafka the record may lie below the log start, when its segment is
    # still there.
    latest = max(local.segments, key=lambda segment: segment.max_timestamp)
    if latest.max_timestamp == NO_TIMESTAMP:
        return None
    return latest.find_offset_by_timestamp(latest.max_timestamp, 0, may_block)

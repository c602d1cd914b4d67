"""Offsets by time, and the questions that ListOffsets asks with a negative one.

What is in the log but above what the asker may see is not found.
"""

from typing import Final

from odradek.storage.indexes.time_index import NO_TIMESTAMP
from odradek.storage.values.log_read import TimestampOffset

from .leader_epochs import NO_EPOCH, LeaderEpochs
from .local_log import LocalLog

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5

_NOTHING_TIERED: Final = TimestampOffset(NO_TIMESTAMP, -1, NO_EPOCH)


def find_offset(
    local: LocalLog,
    epochs: LeaderEpochs,
    visible: tuple[int, int],
    timestamp: int,
    may_block: bool = True,
) -> TimestampOffset | None:
    """The first record that is not earlier than ``timestamp``; None when all are.

    ``visible`` is the log start, and where the asker's part of the log ends: log end,
    high watermark or last stable offset. `LATEST` asks for that end, `EARLIEST` and
    `EARLIEST_LOCAL` for the log start, `MAX_TIMESTAMP` for the record with the largest
    timestamp, `LATEST_TIERED` for the last one in tiered storage: there is none.

    Raises:
        ColdRead: ``may_block`` is False and the bytes are not cached.
        DamagedBatch: a batch on the way is damaged.
    """
    log_start_offset, end = visible
    if timestamp == LATEST:
        return TimestampOffset(NO_TIMESTAMP, end, epochs.latest_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return _earliest(epochs, log_start_offset)
    if timestamp == LATEST_TIERED:
        return _NOTHING_TIERED
    if timestamp == MAX_TIMESTAMP:
        found = _with_max_timestamp(local, may_block)
    else:
        found = _first_not_earlier(local, log_start_offset, timestamp, may_block)
    return found if found is not None and found.offset < end else None


def _first_not_earlier(
    local: LocalLog, log_start_offset: int, timestamp: int, may_block: bool
) -> TimestampOffset | None:
    for segment in local.segments:
        if segment.max_timestamp >= timestamp:
            found = segment.reader.find_offset_by_timestamp(
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
    return latest.reader.find_offset_by_timestamp(latest.max_timestamp, 0, may_block)

"""A partition as those see it who read it, or wait for what they wrote.

A partition that was never written has no log: it ends at offset 0.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from odradek.protocol.errors import ErrorCode, KafkaStorageError, OffsetOutOfRange
from odradek.storage.files.files import MISSING
from odradek.storage.local.offset_lookup import EARLIEST, EARLIEST_LOCAL
from odradek.storage.values.log_read import FetchedData, FetchIsolation, TimestampOffset
from odradek.storage.values.offset_metadata import OffsetMetadata

from .leadership import NO_EPOCH

if TYPE_CHECKING:
    from odradek.storage.log.unified_log import UnifiedLog

    from .leadership import Leadership

NO_TIMESTAMP = -1

# Before the first segment: what is appended first will lie behind it.
_BEGINNING = OffsetMetadata(0, 0, 0)


class Until(Enum):
    """What the answer to an append waits for.

    ``REPLICATED``: the high watermark, as ``acks=all`` asks. ``SYNCED``: the durable
    offset of our own copy, as ``flush.messages`` asks.
    """

    REPLICATED = "the high watermark"
    SYNCED = "a sync"
    BOTH = "a sync and the high watermark"


_REPLICATED, _SYNCED = Until.REPLICATED, Until.SYNCED


class PartitionView:
    """What can be asked of a partition without changing it.

    ``log`` is None until it is opened, or created by the first append.
    """

    __slots__ = ("_leadership", "log")

    def __init__(self, leadership: Leadership) -> None:
        self._leadership = leadership
        self.log: UnifiedLog | None = None

    @property
    def log_start_offset(self) -> int:
        """The first offset that can be read."""
        return 0 if self.log is None else self.log.log_start_offset

    @property
    def high_watermark(self) -> int:
        """The offset up to which consumers see records."""
        return 0 if self.log is None else self.log.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """The offset up to which read_committed consumers see records."""
        return 0 if self.log is None else self.log.last_stable_offset

    @property
    def log_end_offset(self) -> int:
        """The offset of the next record."""
        return 0 if self.log is None else self.log.log_end_offset

    def acknowledgement(self, next_offset: int, until: Until) -> int | None:
        """The error code, 0 for none, of an append up to ``next_offset``.

        None while it is open: what it waits for has not passed it.
        """
        log, leadership = self.log, self._leadership
        if leadership.refusal is not None:
            return leadership.refusal.code
        if not leadership.replicas.is_leader or log is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if until is _REPLICATED:
            reached = log.high_watermark
        elif until is _SYNCED:
            reached = log.recovery_point
        else:
            reached = min(log.high_watermark, log.recovery_point)
        if reached < next_offset:
            return ErrorCode.KAFKA_STORAGE_ERROR if log.is_failed else None
        if until is not _SYNCED and not leadership.has_enough_in_sync:
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return ErrorCode.NONE

    @property
    def is_high_watermark_lagging(self) -> bool:
        """Whether it is still below where our leader epoch begins.

        An election may bring a leader that does not know yet what was replicated.
        """
        return self._leadership.epoch_start_offset > self.high_watermark

    def offsets(self) -> tuple[int, int, int]:
        """The high watermark, the last stable offset and the log start together."""
        log = self.log
        if log is None:
            return 0, 0, 0
        return log.visibility.offsets()

    def end_offset(self, isolation: FetchIsolation) -> OffsetMetadata:
        """Up to where a reader of that isolation sees records."""
        return (
            _BEGINNING
            if self.log is None
            else self.log.visibility.end_offset(isolation)
        )

    def read(
        self,
        offset: int,
        size_max: int,
        isolation: FetchIsolation,
        min_one: bool,
        may_block: bool = False,
    ) -> FetchedData:
        """What the log holds from ``offset`` on.

        Raises:
            OffsetOutOfRange: the log has no such offset.
            ColdRead: the bytes are not in memory, and ``may_block`` is False.
            KafkaStorageError: the disk fails, or somebody has removed the files.
        """
        if self.log is not None:
            try:
                return self.log.reading.read(
                    offset, size_max, isolation, min_one, may_block
                )
            except MISSING as error:
                raise _files_gone(error) from error
        if offset != 0:
            raise OffsetOutOfRange
        is_committed = isolation is FetchIsolation.TXN_COMMITTED
        return FetchedData(_BEGINNING, b"", aborted=[] if is_committed else None)

    def damaged_from(self, offset: int) -> int | None:
        """The first offset from there on that nobody can read any more."""
        return None if self.log is None else self.log.damage.first_from(offset)

    def find_offset(
        self, timestamp: int, may_block: bool = False
    ) -> TimestampOffset | None:
        """The first record that is not earlier; see ``storage.local.offset_lookup``.

        Raises:
            ColdRead: the bytes are not in memory, and ``may_block`` is False.
            KafkaStorageError: the disk fails, or somebody has removed the files.
        """
        if self.log is not None:
            try:
                return self.log.reading.find_offset(timestamp, may_block)
            except MISSING as error:
                raise _files_gone(error) from error
        if timestamp in (EARLIEST, EARLIEST_LOCAL):
            return TimestampOffset(NO_TIMESTAMP, 0, self._leadership.epoch)
        return None

    def epoch_end_offset(self, epoch: int) -> tuple[int, int]:
        """The largest epoch up to ``epoch``, and where it ended; -1, -1 if unknown."""
        if self.log is not None:
            return self.log.epoch_end_offset(epoch)
        if not 0 <= epoch <= self._leadership.epoch:
            return -1, -1
        return epoch, 0

    def diverging_epoch(self, offset: int, last_fetched_epoch: int) -> Any:
        """Where a reader's history ended to be ours: (epoch, end offset), or None.

        Raises:
            OffsetOutOfRange: the epoch is unknown, or ``offset`` is below the start.
        """
        epoch, end_offset = self.epoch_end_offset(last_fetched_epoch)
        if epoch == NO_EPOCH or offset < self.log_start_offset:
            raise OffsetOutOfRange
        if epoch < last_fetched_epoch or end_offset < offset:
            return epoch, end_offset
        return None


def _files_gone(error: OSError) -> KafkaStorageError:
    return KafkaStorageError(f"files of the log are gone: {error}")

"""What a log is made of, and how far it is durable, replicated and decided.

The ground that `LogWriter` and `UnifiedLog` stand on: parts, offsets, failure.

Invariants: those of `Watermarks`; and after `fail` nothing is written any more, and
nothing is shown beyond what was durable before.
"""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import KafkaError, KafkaStorageError
from odradek.storage.files.files import StorageFailure
from odradek.storage.local.leader_epochs import LeaderEpochs
from odradek.storage.local.local_log import LocalLog
from odradek.storage.local.quarantine import Quarantine
from odradek.storage.local.sync_ticket import Unsynced
from odradek.storage.local.watermarks import LogStartReason, Watermarks
from odradek.storage.producers.state import NO_OFFSET
from odradek.storage.producers.states import ProducerStates
from odradek.storage.values.log_config import LogConfig
from odradek.storage.values.log_lines import LogLines
from odradek.storage.values.log_read import FetchIsolation
from odradek.storage.values.offset_metadata import LogOffsetSnapshot, OffsetMetadata

if TYPE_CHECKING:
    from odradek.protocol.topic_partition import TopicPartition

_log = logging.getLogger(__name__)


class LogParts(NamedTuple):
    """What a log is made of.

    Batches, epochs, producers, what is not durable, and what is damaged.
    """

    local: LocalLog
    epochs: LeaderEpochs
    producers: ProducerStates
    unsynced: Unsynced
    quarantine: Quarantine


class Loaded(NamedTuple):
    """What became of a log that was on disk: see `opening.loader`.

    ``recovered_offsets`` were there beyond what was known to be durable, ``cut_bytes``
    were those of a torn tail.
    """

    is_recovered: bool
    recovered_offsets: int
    cut_bytes: int


class LogState:
    """The parts of one partition's log, its offsets, and whether it still works."""

    def __init__(
        self,
        topic_partition: "TopicPartition",
        topic_id: bytes,
        parts: LogParts,
        log_start_offset: int,
    ) -> None:
        """Put the parts together; the log is durable to its end (`opening.loader`)."""
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.local, self.epochs, self.producers, self._unsynced = parts[:4]
        self.producers.belong_to(topic_partition)
        self.quarantine = parts.quarantine
        self._watermarks = Watermarks(self.local, log_start_offset)
        self.opened_end_offset = self.log_end_offset
        self.appended_bytes = 0  # since it was opened, as the next one
        self.fetched_bytes = 0  # by consumers
        self.loaded: Loaded | None = None  # made by this process
        self._failure: KafkaError | None = None
        self._is_held = False  # nothing becomes durable
        # No transaction index says more of markers behind it. None: not looked yet.
        self._last_abort_offset: int | None = None

    @property
    def directory(self) -> Path:
        """Where its files are."""
        return self.local.directory

    def lines(self, logger: logging.Logger) -> LogLines:
        """What ``logger`` is told of this log."""
        return LogLines(logger, self.local.directory)

    @property
    def config(self) -> LogConfig:
        """The topic's options."""
        return self.local.config

    @property
    def size(self) -> int:
        """The bytes of its batches on disk."""
        return self.local.size

    # Offsets

    @property
    def log_start_offset(self) -> int:
        """The first offset that can be read."""
        return self._watermarks.log_start_offset

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record gets."""
        return self.local.end.offset

    @property
    def end_metadata(self) -> OffsetMetadata:
        """The log end with its place in the files."""
        return self.local.end

    @property
    def recovery_point(self) -> int:
        """The durable offset: everything below survives a power cut."""
        return self._watermarks.durable.offset

    @property
    def durable_end(self) -> OffsetMetadata:
        """The durable offset with its place in the files."""
        return self._watermarks.durable

    @property
    def high_watermark(self) -> int:
        """The offset up to which consumers see records."""
        return self._watermarks.high.offset

    @property
    def high_watermark_metadata(self) -> OffsetMetadata:
        """The high watermark with its place in the files.

        Raises:
            OffsetOutOfRange: it lies below the first segment.
        """
        return self._watermarks.locate_high()

    @property
    def first_unstable_offset(self) -> int:
        """Where the first transaction begins that is open, or ended unreplicated.

        -1 when there is none. Never below the log start.
        """
        first = self.producers.first_unstable_offset
        return first if first == NO_OFFSET else max(first, self.log_start_offset)

    @property
    def last_stable_offset(self) -> int:
        """The offset up to which every transaction is decided, and replicated."""
        return self._watermarks.stable(self.producers.first_unstable_offset)

    def visible_offsets(self) -> tuple[int, int, int]:
        """The high watermark, the last stable offset and the log start together."""
        marks, first_unstable = self._watermarks, self.producers.first_unstable_offset
        high = stable = marks.high.offset
        if first_unstable >= 0:
            stable = marks.stable(first_unstable)
        return high, stable, marks.log_start_offset

    @property
    def latest_epoch(self) -> int:
        """The newest leader epoch in the log, -1 when there is none."""
        return self.epochs.latest_epoch

    @property
    def unflushed_count(self) -> int:
        """How many offsets a power cut could take; for ``flush.messages``."""
        return self.local.end.offset - self._watermarks.durable.offset

    def end_offset(self, isolation: FetchIsolation) -> OffsetMetadata:
        """Up to where a reader of this isolation sees records."""
        if isolation is FetchIsolation.HIGH_WATERMARK:
            return self._watermarks.high
        if isolation is FetchIsolation.TXN_COMMITTED:
            return self._watermarks.locate_stable(self.producers.first_unstable_offset)
        return self.local.end if self._failure is None else self._watermarks.durable

    def fetch_offset_snapshot(self) -> LogOffsetSnapshot:
        """All offsets at once, each with its place where that can be found."""
        return LogOffsetSnapshot(
            self.log_start_offset,
            self.end_offset(FetchIsolation.LOG_END),
            self.end_offset(FetchIsolation.HIGH_WATERMARK),
            self.end_offset(FetchIsolation.TXN_COMMITTED),
        )

    # Watermarks

    def update_high_watermark(self, target: OffsetMetadata | int) -> bool:
        """Raise the high watermark to ``target``, or as far as it may go.

        Returns whether it moved; the same offset in a newer segment counts. It never
        falls here, and after `fail` it stays at what was durable.
        """
        if self._failure is not None or not self._watermarks.raise_high(target):
            return False
        self.producers.on_high_watermark(self._watermarks.high.offset)
        return True

    def raise_high_watermark_to_end(self) -> None:
        """What `update_high_watermark` does right after an append, without asking."""
        if self._failure is None:
            self._watermarks.high = end = self.local.end
            if self.producers.first_unstable_offset >= 0:
                self.producers.on_high_watermark(end.offset)

    def raise_high_watermark_to_durable(self) -> None:
        """The same right after a sync, up to where that was begun."""
        marks, durable = self._watermarks, self._watermarks.durable
        if self._failure is not None or durable.offset <= marks.high.offset:
            self.update_high_watermark(durable)
            return
        end = self.local.end  # which a roll during the sync has moved
        marks.high = end if durable.offset == end.offset else durable
        if self.producers.first_unstable_offset >= 0:
            self.producers.on_high_watermark(durable.offset)

    def increment_high_watermark(self, target: OffsetMetadata) -> OffsetMetadata | None:
        """Raise the high watermark as a leader does when its replicas have caught up.

        Returns what it was, or None when it stays. The same offset in a newer segment
        counts.

        Raises:
            ValueError: ``target`` is no offset of this log.
        """
        if not 0 <= target.offset <= self.local.end.offset:
            raise ValueError(f"{target}, but the log ends at {self.local.end.offset}")
        before = self._watermarks.high
        return before if self.update_high_watermark(target) else None

    def update_high_watermark_as_follower(self, offset: int) -> int | None:
        """Take the leader's high watermark, as far as it is in this log. It may fall.

        Returns the new one, or None when it is as before. A checkpointed one can be
        restored in the same way; transactions that ended above it before the log was
        loaded then count as replicated: loading begins with it at the log end.
        """
        if self._failure is not None or not self._watermarks.set_high(offset):
            return None
        high = self._watermarks.high.offset
        self.producers.on_high_watermark(high)
        return high

    def increment_log_start(
        self,
        offset: int,
        reason: LogStartReason = LogStartReason.CLIENT_RECORD_DELETION,
    ) -> bool:
        """Give up everything below ``offset``. Returns whether that was anything.

        Not durable on return: the checkpoint of the log starts makes it so.

        Raises:
            OffsetOutOfRange: ``offset`` is above the high watermark.
        """
        self._check_writable()
        if not self._watermarks.raise_log_start(offset, reason):
            return False
        self.epochs.truncate_from_start(offset)
        self.producers.on_log_start_offset(offset)
        return True

    # Failure

    @property
    def is_failed(self) -> bool:
        """Whether the log takes no more writes."""
        return self._failure is not None

    def fail(self, error: KafkaError) -> None:
        """Write nothing any more; what is not durable is not shown any more either.

        The disk may keep what was written since, or not: nobody can know.
        """
        if self._failure is not None:
            return
        # The reason is reported once, for the whole log directory.
        self.lines(_log).debug("no more writes are taken: %s", error)
        self._failure = error
        self._watermarks.fall_to_durable()

    def fail_without_files(self, error: OSError) -> StorageFailure:
        """`fail`, because somebody has removed the files. Returns what to raise."""
        gone = StorageFailure(f"{self.directory}: {error}")
        self.fail(gone)
        return gone

    def _check_writable(self) -> None:
        if self._failure is not None:
            raise KafkaStorageError(
                f"{self.topic_partition} takes no more writes: {self._failure}"
            )

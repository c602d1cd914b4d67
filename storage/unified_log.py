"""The log of one partition: what may be appended, by whom, and who sees how far.

`LocalLog` knows bytes and offsets; here are producers, epochs and watermarks.

Invariants:
- log start <= last stable offset <= high watermark <= log end (`Watermarks`).
- An append is checked completely before anything changes: a refused batch leaves
  producers, epochs and segments as they were.
- After `fail` nothing is written any more, and nothing is read beyond what was
  durable before.

Used by the loop's thread alone; what a disk thread does with the log is in
`sync_ticket`, and reads that must wait go through `ColdRead`.
"""

import logging
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from protocol.errors import (
    KafkaError,
    KafkaStorageError,
    OffsetOutOfRange,
    RecordListTooLarge,
)
from protocol.record_batch import stamp

from .append_info import AppendInfo, AppendOrigin, info_of_duplicate
from .files import Buffer, DiskFull, File, StorageFailure
from .leader_epochs import EpochEndOffset, LeaderEpochs
from .local_log import LocalLog
from .log_config import LogConfig
from .log_read import FetchedData, FetchIsolation, TimestampOffset
from .log_validator import ValidBatch, validate
from .offset_lookup import find_offset
from .offset_metadata import OffsetMetadata
from .producer_snapshot import snapshot_path
from .producer_states import ProducerStates
from .sync_ticket import SyncTicket, Unsynced
from .usual_batch import usual_batch
from .watermarks import Watermarks

if TYPE_CHECKING:
    from protocol.topic_partition import TopicPartition

_log = logging.getLogger(__name__)
_new = tuple.__new__


class LogParts(NamedTuple):
    """What a log is made of: batches, epochs, producers, and what is not durable."""

    local: LocalLog
    epochs: LeaderEpochs
    producers: ProducerStates
    unsynced: Unsynced


class UnifiedLog:
    """Appends, reads and watermarks of one partition."""

    def __init__(
        self,
        topic_partition: "TopicPartition",
        topic_id: bytes,
        parts: LogParts,
        log_start_offset: int,
    ) -> None:
        """Put the parts together; the log is durable to its end (`log_loader`)."""
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.local, self.epochs, self.producers, self._unsynced = parts
        self._watermarks = Watermarks(self.local, log_start_offset)
        self._failure: KafkaError | None = None

    @property
    def directory(self) -> Path:
        """Where its files are."""
        return self.local.directory

    @property
    def config(self) -> LogConfig:
        """The topic's options."""
        return self.local.config

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record gets."""
        return self.local.end.offset

    @property
    def end_metadata(self) -> OffsetMetadata:
        """The log end with its place in the files."""
        return self.local.end

    @property
    def log_start_offset(self) -> int:
        """The first offset that can be read."""
        return self._watermarks.log_start_offset

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
        """The high watermark with its place in the files."""
        return self._watermarks.high

    @property
    def last_stable_offset(self) -> int:
        """The offset up to which every transaction is decided, and replicated."""
        return self._watermarks.stable(self.producers.first_unstable_offset)

    @property
    def latest_epoch(self) -> int:
        """The newest leader epoch in the log, -1 when there is none."""
        return self.epochs.latest_epoch

    @property
    def is_failed(self) -> bool:
        """Whether the log takes no more writes."""
        return self._failure is not None

    @property
    def size(self) -> int:
        """The bytes of its batches on disk."""
        return self.local.size

    # Append

    def append_as_leader(
        self,
        batch: Buffer,
        leader_epoch: int,
        now_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> AppendInfo:
        """Validate one batch, give it offsets, write it. Not durable on return.

        The bytes may be changed in place: offset, epoch, and where the topic says so,
        timestamps. A retry of a batch that was stored is answered as it was then.

        Raises:
            KafkaError: what `log_validator` and `producer_append` refuse.
            RecordListTooLarge: more than a segment takes.
            DiskFull: nothing was written; it may be tried again.
            KafkaStorageError: the log has failed.
        """
        if self._failure is not None:
            self._check_writable()
        config = self.local.config
        valid = usual_batch(batch, config, now_ms) or validate(
            batch, config, now_ms, origin, self.topic_partition
        )
        header = valid.header
        size, size_max = len(valid.batch), config.segment_bytes
        if size > size_max:
            raise RecordListTooLarge(f"{size} bytes, segment.bytes is {size_max}")
        if header.producer_id >= 0:
            duplicate = self.producers.check(header, valid.batch, origin)
            if duplicate is not None:
                return info_of_duplicate(duplicate, self.log_start_offset)
        return self._write(valid, leader_epoch, now_ms)

    def _write(self, valid: ValidBatch, leader_epoch: int, now_ms: int) -> AppendInfo:
        batch, header, max_timestamp, log_append_time_ms = valid
        local, producers = self.local, self.producers
        base_offset = local.end.offset
        last_offset = base_offset + header.last_offset_delta
        size = len(batch)
        stamp(batch, base_offset, leader_epoch)
        try:
            has_rolled = local.active.should_roll(
                size, max_timestamp, last_offset, now_ms
            )
            if has_rolled:
                self.roll(now_ms)
            local.append(batch, last_offset, max_timestamp, last_offset)
        except StorageFailure as error:
            self.fail(error)
            raise
        if leader_epoch > self.epochs.latest_epoch:
            self.epochs.assign(leader_epoch, base_offset)
        if header.producer_id >= 0:
            completed = producers.add(header, batch, base_offset, max_timestamp)
            if completed is not None:
                producers.complete(completed)
        producers.map_end_offset = last_offset + 1
        log_start = self._watermarks.log_start_offset
        times = (max_timestamp, log_append_time_ms)
        # The tuple's own constructor takes half the time of the class's.
        info = (base_offset, last_offset, *times, log_start, size, False, has_rolled)
        return _new(AppendInfo, info)

    def _check_writable(self) -> None:
        if self._failure is not None:
            raise KafkaStorageError(
                f"{self.topic_partition} takes no more writes: {self._failure}"
            )

    def roll(self, now_ms: int, expected_next_offset: int = 0) -> None:
        """Seal the active segment and begin another, at the log end or later.

        The producers as they are now are kept beside the new segment, so that they
        need not be read from the segments before it.
        """
        sealed = self.local.active
        active = self.local.roll(expected_next_offset, now_ms)
        snapshot = self._write_snapshot(active.base_offset)
        self._unsynced.note_roll(None if sealed is active else sealed, snapshot)
        self._watermarks.follow_roll()

    def _write_snapshot(self, offset: int) -> File | None:
        """Write a snapshot that the next sync will make durable."""
        path = snapshot_path(self.directory, offset)
        file = self.local.files.open(path, create=True)
        try:
            file.truncate(0)
            file.append(self.producers.encode())
        except DiskFull as error:
            _log.warning("no producer snapshot at %d: %s", offset, error)
            return None
        return file

    # Read

    def read(
        self,
        start_offset: int,
        size_max: int,
        isolation: FetchIsolation = FetchIsolation.HIGH_WATERMARK,
        min_one: bool = True,
        may_block: bool = False,
    ) -> FetchedData:
        """The batches from the one that holds ``start_offset`` on (``spec`` B4.1).

        Nothing, and no error, between what the reader may see and the log end.

        Raises:
            OffsetOutOfRange: below the log start or above the log end.
            ColdRead: ``may_block`` is False and the bytes are not cached.
            CorruptMessage: the first batch is damaged.
        """
        watermarks = self._watermarks
        if start_offset < watermarks.log_start_offset:
            raise OffsetOutOfRange(
                f"offset {start_offset} is below the log start, {self.log_start_offset}"
            )
        limit = watermarks.high
        if isolation is not FetchIsolation.HIGH_WATERMARK:
            limit = self.end_offset(isolation)
        data = self.local.read(start_offset, size_max, min_one, limit, may_block)
        if isolation is FetchIsolation.TXN_COMMITTED:
            return data._replace(aborted=[])
        return data

    def end_offset(self, isolation: FetchIsolation) -> OffsetMetadata:
        """Up to where a reader of this isolation sees records."""
        if isolation is FetchIsolation.HIGH_WATERMARK:
            return self._watermarks.high
        if isolation is FetchIsolation.TXN_COMMITTED:
            stable = self.last_stable_offset
            if stable == self._watermarks.high.offset:
                return self._watermarks.high
            return self.local.convert_to_offset_metadata(stable)
        return self.local.end if self._failure is None else self._watermarks.durable

    def find_offset(
        self, timestamp: int, may_block: bool = True
    ) -> TimestampOffset | None:
        """The first record that is not earlier; see `offset_lookup`."""
        return find_offset(
            self.local, self.epochs, self.log_start_offset, timestamp, may_block
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

    def increment_log_start(self, offset: int) -> bool:
        """Give up everything below ``offset``. Returns whether that was anything.

        Raises:
            OffsetOutOfRange: ``offset`` is above the high watermark.
        """
        self._check_writable()
        if not self._watermarks.raise_log_start(offset):
            return False
        self.epochs.truncate_from_start(offset)
        self.producers.on_log_start_offset(offset)
        return True

    # Sync

    def begin_sync(self, with_snapshot: bool = False) -> SyncTicket | None:
        """What must reach the disk for all that is in the log; None when it has.

        ``with_snapshot`` adds the indexes of the active segment and a producer
        snapshot, so that a recovery need not begin further back.
        """
        if self._failure is not None:
            return None
        return self._unsynced.draw(
            self.local,
            self.epochs,
            self.local.end.offset > self.recovery_point,
            self.producers if with_snapshot else None,
        )

    def finish_sync(self, ticket: SyncTicket) -> None:
        """Note that ``ticket`` was run: the log is durable up to its end."""
        if self._failure is not None:
            return
        self._unsynced.take_back(ticket, self.epochs)
        self._watermarks.raise_durable(ticket.end)

    def fail(self, error: KafkaError) -> None:
        """Write nothing any more; what is not durable is not shown any more either.

        The disk may keep what was written since, or not: nobody can know.
        """
        if self._failure is not None:
            return
        _log.error("%s takes no more writes: %s", self.topic_partition, error)
        self._failure = error
        self._watermarks.fall_to_durable()

    # Epochs

    def assign_epoch(self, leader_epoch: int) -> None:
        """Let a leader's epoch begin at the log end, before any record of it."""
        if leader_epoch > self.epochs.latest_epoch:
            self.epochs.assign(leader_epoch, self.local.end.offset)

    def epoch_end_offset(self, epoch: int) -> EpochEndOffset:
        """The newest epoch not above ``epoch`` and its end; (-1, -1) if unknown."""
        return self.epochs.end_offset_for(epoch, self.local.end.offset)

    # Life

    def update_config(self, config: LogConfig) -> None:
        """Follow a change of the topic's options."""
        self.local.update_config(config)

    def close(self) -> bool:
        """Make everything durable and let go of the files. For a clean stop.

        Returns whether that worked; if not, the log will be recovered.
        """
        try:
            if self._failure is None:
                self.local.active.seal()
                ticket = self.begin_sync(with_snapshot=True)
                if ticket is not None:
                    ticket.run()
                    self.finish_sync(ticket)
        except KafkaStorageError as error:
            self.fail(error)
        with suppress(KafkaStorageError):
            self.local.close()
        return self._failure is None

    def retire(self, directory: Path) -> None:
        """Follow the directory to the name under which it is to be removed."""
        self._failure = KafkaStorageError(f"{self.topic_partition} is deleted")
        self.local.moved(directory)
        self.epochs.moved(directory)

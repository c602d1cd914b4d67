"""The log of one partition: what may be appended, by whom, and who sees how far.

`LocalLog` knows bytes and offsets; here are producers, epochs and watermarks. The
class is in layers: `LogState` is what there is, `LogTruncation` cuts it, `LogWriter`
appends to it, `JointWriter` several batches at once, and `UnifiedLog` adds reading,
syncing and the log's life.

Used by the loop's thread alone; what a disk thread does with the log is in
`sync_ticket`, and reads that must wait go through `ColdRead`.
"""

import logging
from contextlib import suppress
from pathlib import Path

from odradek.protocol.errors import KafkaStorageError, OffsetOutOfRange
from odradek.protocol.record_batch import scan
from odradek.storage.files.files import MISSING
from odradek.storage.indexes.mapped_index import CorruptIndex
from odradek.storage.local.aborted_transactions import collect_aborted
from odradek.storage.local.leader_epochs import EpochEndOffset
from odradek.storage.local.offset_lookup import find_offset
from odradek.storage.local.segments import LogSegments
from odradek.storage.local.sync_ticket import SyncTicket, Unsynced
from odradek.storage.producers.state import NO_OFFSET
from odradek.storage.segment.batch_verification import DamagedBatch
from odradek.storage.segment.damage_extent import Damage
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.values.log_config import LogConfig
from odradek.storage.values.log_read import (
    AbortedTransaction,
    FetchedData,
    FetchIsolation,
    TimestampOffset,
)
from odradek.storage.values.offset_metadata import OffsetMetadata

from .joint_append import JointWriter
from .record_count import count_records


def last_abort_offset(segments: LogSegments) -> int:
    """The offset of the last marker that aborted a transaction; -1 without any.

    Raises:
        CorruptIndex: a transaction index cannot be believed.
    """
    last = NO_OFFSET
    for segment in segments:
        for entry in segment.transactions.entries()[-1:]:
            last = entry.last_offset
    return last


_log = logging.getLogger(__name__)
# NamedTuple's own constructor costs three times as much as the tuple.
_new = tuple.__new__


class UnifiedLog(JointWriter):
    """Appends, reads and watermarks of one partition."""

    # Read

    def read(
        self,
        start_offset: int,
        size_max: int,
        isolation: FetchIsolation = FetchIsolation.HIGH_WATERMARK,
        min_one: bool = True,
        may_block: bool = False,
    ) -> FetchedData:
        """The batches from the one that holds ``start_offset`` on.

        Nothing, and no error, between what the reader may see and the log end.

        A damaged batch is quarantined, and readers get an empty one for it. What
        committed readers get comes with the transactions that they must leave out.

        Raises:
            OffsetOutOfRange: below the log start or above the log end.
            ColdRead: ``may_block`` is False and the bytes are not cached.
            KafkaStorageError: nobody knows which transactions were aborted.
        """
        watermarks = self._watermarks
        if start_offset < watermarks.log_start_offset:
            raise OffsetOutOfRange(
                f"offset {start_offset} is below the log start, {self.log_start_offset}"
            )
        limit = watermarks.high
        if isolation is not FetchIsolation.HIGH_WATERMARK:
            limit = self.end_offset(isolation)
        if limit.segment_base_offset < 0:
            limit = self._located(limit)
        while True:
            try:
                data = self.local.read(
                    start_offset, size_max, min_one, limit, may_block
                )
                break
            except DamagedBatch as damaged:
                self.quarantine_damage(damaged)
        if isolation is FetchIsolation.TXN_COMMITTED:
            return _new(FetchedData, (*data[:3], self._aborted_in(data, limit)))
        return data

    def _located(self, limit: OffsetMetadata) -> OffsetMetadata:
        """A limit whose place was not found when it was set, with its place."""
        is_high = limit is self._watermarks.high
        while True:
            try:
                located = self.local.convert_to_offset_metadata(limit.offset)
                break
            except DamagedBatch as damaged:
                self.quarantine_damage(damaged)
        if is_high:
            self._watermarks.high = located
        return located

    def _aborted_in(
        self, data: FetchedData, limit: OffsetMetadata
    ) -> list[AbortedTransaction]:
        """The aborted transactions with records in ``data``."""
        if not len(data.records):
            return []
        segments, upper_bound = self.local.segments, limit.offset
        offset, base_offset, _ = data.offset_metadata
        following = segments.higher(base_offset)
        if following is not None:
            upper_bound = min(upper_bound, following.base_offset)
        try:
            if self._last_abort_offset is None:
                self._last_abort_offset = last_abort_offset(segments)
            if offset > self._last_abort_offset:
                return []  # as in most logs always: no walk over the segments
            found = collect_aborted(segments, offset, upper_bound)
        except CorruptIndex as error:
            raise KafkaStorageError(str(error)) from error
        if found:  # seldom, so only then it is asked where the bytes end
            upper_bound = offset
            for _, header in scan(data.records):
                upper_bound = header.next_offset
        return [each for each in found if each.first_offset < upper_bound]

    def has_aborted(self, producer_id: int, offset: int) -> bool:
        """Whether the producer's transaction with a record at ``offset`` was aborted.

        Raises:
            KafkaStorageError: nobody knows.
        """
        try:
            found = collect_aborted(self.local.segments, offset, offset + 1)
        except CorruptIndex as error:
            raise KafkaStorageError(str(error)) from error
        return any(each.producer_id == producer_id for each in found)

    def find_offset(
        self,
        timestamp: int,
        may_block: bool = True,
        isolation: FetchIsolation = FetchIsolation.LOG_END,
    ) -> TimestampOffset | None:
        """The first record that is not earlier; see `offset_lookup`.

        None also when a reader of this isolation cannot see it yet.
        """
        place = (self.log_start_offset, self.end_offset(isolation).offset)
        while True:
            try:
                return find_offset(self.local, self.epochs, place, timestamp, may_block)
            except DamagedBatch as damaged:
                self.quarantine_damage(damaged)

    def count_records_above_high_watermark(self) -> int:
        """The records that are not replicated yet, control records left out.

        `log_end_offset` less `high_watermark` is an upper bound that costs nothing:
        compaction leaves gaps. This reads the batches, and waits for the disk.
        """
        return count_records(self, self.high_watermark)

    # Damage

    def quarantine_damage(self, damaged: DamagedBatch) -> None:
        """Put right the damage that a reader has met, or let all pass over it.

        Raises:
            DamagedBatch: they pass over it already, and it is still in the way.
            StorageFailure: the disk fails.
        """
        segments = self.local.segments
        segment = segments.get(damaged.segment_base)
        if segment is None:
            raise damaged
        following = segments.higher(segment.base_offset)
        end = self.local.end.offset if following is None else following.base_offset
        damage = self.quarantine.examine(segment, damaged.position, end)
        if not self.take_damage(segment, damage):
            raise damaged

    def take_damage(self, segment: LogSegment, damage: Damage) -> bool:
        """Put it right, or let readers pass over it. False when they do already.

        Raises:
            StorageFailure: the disk fails.
        """
        if not self.quarantine.take(segment, damage):
            return False
        if segment is not self.local.active and segment.log.is_dirty:
            segment.log.sync()
        return True

    @property
    def quarantined_batches(self) -> int:
        """How many damaged ranges readers pass over."""
        return len(self.quarantine)

    # Sync

    def begin_sync(self, with_snapshot: bool = False) -> SyncTicket | None:
        """What must reach the disk for all that is in the log; None when it has.

        ``with_snapshot`` adds the indexes of the active segment and a producer
        snapshot, so that a recovery need not begin further back.
        """
        if self._failure is not None or self._is_held:
            return None
        end, durable = self.local.end.offset, self._watermarks.durable.offset
        if _log.isEnabledFor(logging.DEBUG):
            text = "flushed up to offset %d, durable up to %d"
            self.lines(_log).debug(text, end, durable)
        return self._unsynced.draw(
            self.local,
            self.epochs,
            end > durable,
            self.producers if with_snapshot else None,
        )

    def finish_sync(self, ticket: SyncTicket) -> None:
        """Note that ``ticket`` was run: the log is durable up to its end.

        Raises:
            StorageFailure: the directory of the log is gone; the log has failed.
        """
        if self._failure is not None or not self._unsynced.has_drawn(ticket):
            return
        if ticket.has_lost_directory:
            raise self.fail_without_files(FileNotFoundError("the directory is gone"))
        self._unsynced.take_back(ticket, self.local.segments, self.epochs)
        self._watermarks.raise_durable(ticket.end)

    def flush(self, with_snapshot: bool = False) -> None:
        """Make everything durable now. Waits for the disk.

        Raises:
            StorageFailure: the log must `fail` with it.
        """
        ticket = self.begin_sync(with_snapshot)
        if ticket is not None:
            ticket.run()
            self.finish_sync(ticket)

    # Transactions

    def has_late_transaction(self, now_ms: int, timeout_max_ms: int) -> bool:
        """Whether a transaction is open whose marker will never come (KIP-664)."""
        return self.producers.has_late_transaction(now_ms, timeout_max_ms)

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

        Returns whether that worked; if not, the log will be recovered. It can still
        be read, and takes no more writes.
        """
        try:
            if self._failure is None:
                self.local.active.seal()
                self.flush(with_snapshot=True)
        except KafkaStorageError as error:
            self.lines(_log).error("not closed in order: %s", error)
            self.fail(error)
        except MISSING as error:
            self.lines(_log).error("not closed in order: %s", error)
            self.fail_without_files(error)
        with suppress(KafkaStorageError, *MISSING):
            self.local.close()
        if self._failure is not None:
            return False
        self._failure = KafkaStorageError(f"{self.topic_partition} is closed")
        return True

    def retire(self, directory: Path) -> None:
        """Follow the directory to the name under which it is to be removed."""
        self._failure = KafkaStorageError(f"{self.topic_partition} is deleted")
        self.follow_directory(directory)

    def follow_directory(self, directory: Path) -> None:
        """The directory has another name now."""
        self.local.moved(directory)
        self.epochs.moved(directory)
        self.quarantine.moved(directory)

    # Moving to another log directory: see `log_move`

    def hold(self) -> None:
        """Let nothing become durable that is not, until `release`."""
        self._is_held = True

    def release(self) -> None:
        """Let the next sync make durable what there is."""
        self._is_held = False

    def use_copy(
        self, directory: Path, segments: LogSegments, unsynced: Unsynced
    ) -> LogSegments:
        """Go on with the files in ``directory``, which hold what these hold.

        ``unsynced`` is what of them is not durable besides the active segment. What is
        durable stays where it is. Returns the old segments.
        """
        old = self.local.use_copy(directory, segments)
        self.epochs.moved(directory)
        self.epochs.is_dirty = True
        self.quarantine.moved(directory)
        self._unsynced = unsynced
        return old

"""Writing to a log: a batch is checked, gets its place, and goes to the segment.

Invariant: an append is checked completely before anything changes: a refused batch
leaves producers, epochs and segments as they were.
"""

import logging
from typing import TYPE_CHECKING, TypeAlias

from odradek.protocol.control_records import read_marker
from odradek.protocol.errors import InvalidRecord, KafkaStorageError, RecordListTooLarge
from odradek.protocol.record_batch import (
    COMPRESSION_MASK,
    CONTROL,
    BatchHeader,
    next_sequence,
    stamp,
)
from odradek.storage.files.files import MISSING, Buffer, StorageFailure
from odradek.storage.formats.transaction_entry import TransactionEntry
from odradek.storage.indexes.mapped_index import CorruptIndex
from odradek.storage.local.local_log import KEPT_SIZE_MAX
from odradek.storage.producers.append_info import (
    AppendInfo,
    AppendOrigin,
    info_of_duplicate,
)
from odradek.storage.producers.state import BatchMetadata
from odradek.storage.producers.states import CompletedTransaction
from odradek.storage.validation.batch_analysis import (
    BatchAnalysis,
    UnexpectedAppendOffset,
    analyse,
)
from odradek.storage.validation.usual_batch import check_usual, usual_batch
from odradek.storage.validation.validator import ValidBatch, validate
from odradek.storage.values.offset_metadata import OffsetMetadata

from .truncation import LogTruncation

if TYPE_CHECKING:
    from odradek.storage.producers.verification_state import (
        VerificationGuard,
        VerificationStates,
    )

_log = logging.getLogger(__name__)
# A batch's base offset, the offset behind it, and where the log starts.
Placed: TypeAlias = tuple[int, int, int]
_new = tuple.__new__


class LogWriter(LogTruncation):
    """The log as those see it who append to it."""

    def append_as_leader(
        self,
        batch: Buffer,
        leader_epoch: int,
        now_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        guard: "VerificationGuard | None" = None,
        transaction_version: int = 0,
    ) -> AppendInfo:
        """Validate one batch, give it offsets, write it. Not durable on return.

        The bytes may be changed in place: offset, epoch, and where the topic says so,
        timestamps. A retry of a batch that was stored is answered as it was then.
        ``guard`` is what `start_verification` gave for the batch's transaction,
        ``transaction_version`` what the coordinator said with an end marker.

        Raises:
            KafkaError: what `validator` and `producers.append` refuse.
            RecordListTooLarge: more than a segment takes.
            DiskFull: nothing was written; it may be tried again.
            KafkaStorageError: the log has failed.
        """
        if self._failure is not None:
            self._check_writable()
        config = self.local.config
        valid = usual_batch(batch, self.local.usual_rules, now_ms) or validate(
            batch, config, now_ms, origin, self.topic_partition
        )
        header = valid.header
        size, size_max = len(valid.batch), config.segment_bytes
        if size > size_max:
            raise RecordListTooLarge(f"{size} bytes, segment.bytes is {size_max}")
        if header.producer_id >= 0:
            duplicate = self.producers.check(
                header, valid.batch, origin, guard, transaction_version
            )
            if duplicate is not None:
                return info_of_duplicate(duplicate, self.log_start_offset)
        return self._write(valid, leader_epoch, now_ms)

    def append_usual(
        self, batch: memoryview, leader_epoch: int, now_ms: int
    ) -> Placed | None:
        """What `append_as_leader` does with the batch that nearly every client sends.

        None, and nothing was done, where anything is special: the batch, the topic, its
        place in the log. Then it is for `append_as_leader`.

        Raises:
            KafkaError: as there.
        """
        local, rules = self.local, self.local.usual_rules
        size = len(batch)
        if (
            rules is None
            or batch.readonly
            or size > rules[0]
            or self._failure is not None
            or leader_epoch != self.epochs.latest_epoch
        ):
            return None
        fields = check_usual(batch, now_ms, rules[1], rules[2], rules[3])
        if fields is None or fields[5]:
            return None
        delta, max_timestamp, producer_id = fields[6], fields[8], fields[9]
        producer, epoch, sequence = None, fields[10], fields[11]
        if producer_id >= 0:
            producer = self.producers.follows(producer_id, epoch, sequence)
            if producer is None:
                return None
        active, (base_offset, segment_base, position) = local.active, local.end
        last_offset = base_offset + delta
        try:
            if not active.append_usual(
                batch, base_offset, last_offset, max_timestamp, leader_epoch
            ):
                return None
        except StorageFailure as error:
            self.fail(error)
            raise
        except MISSING as error:
            raise self.fail_without_files(error) from error
        next_offset = last_offset + 1
        local.end = _new(OffsetMetadata, (next_offset, segment_base, position + size))
        if size > KEPT_SIZE_MAX or active.tail is None:
            local.keep(batch, base_offset)
        else:
            active.tail.add(batch, position, base_offset, next_offset)
        if producer is not None:
            last_sequence = next_sequence(sequence, delta)
            added = last_sequence, last_offset, delta, max_timestamp
            producer.add_batch(epoch, _new(BatchMetadata, added))
        self.producers.map_end_offset = next_offset
        self.appended_bytes += size
        return base_offset, next_offset, self._watermarks.log_start_offset

    def _write(self, valid: ValidBatch, leader_epoch: int, now_ms: int) -> AppendInfo:
        batch, header, max_timestamp, log_append_time_ms = valid
        local, producers, attributes = self.local, self.producers, header.attributes
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
            if attributes & CONTROL:
                self._index_abort(header, batch, base_offset, now_ms)
        except StorageFailure as error:
            self.fail(error)
            raise
        except MISSING as error:
            raise self.fail_without_files(error) from error
        local.keep(batch, base_offset)
        if leader_epoch > self.epochs.latest_epoch:
            self.epochs.assign(leader_epoch, base_offset)
        if header.producer_id >= 0:
            completed = producers.add(header, batch, base_offset, max_timestamp)
            if completed is not None:
                producers.complete(completed)
        producers.map_end_offset = last_offset + 1
        self.appended_bytes += size
        log_start = self._watermarks.log_start_offset
        # The tuple's own constructor takes half the time of the class's.
        return _new(
            AppendInfo,
            (
                base_offset,
                last_offset,
                max_timestamp,
                log_append_time_ms,
                log_start,
                size,
                False,
                has_rolled,
                attributes & COMPRESSION_MASK,
                last_offset,
                last_offset,
            ),
        )

    def _index_abort(
        self, header: BatchHeader, batch: Buffer, offset: int, now_ms: int
    ) -> None:
        """Write the transaction index's entry of a marker that was just written.

        The log end is behind the marker then, its transaction still an open one. When
        there is no room for the entry, the marker is cut off again.

        Raises:
            DiskFull, KafkaStorageError: the log is as it was.
            StorageFailure: the marker is there without its entry.
        """
        entry = self._aborted_by(header, batch, offset)
        if entry is None:
            return
        try:
            is_new_file = self.local.active.transactions.append(entry)
        except StorageFailure:
            raise
        except KafkaStorageError:  # no room, or too many open files
            self.local.truncate_to(offset, now_ms)
            raise
        except CorruptIndex as error:
            raise StorageFailure(str(error)) from error
        if self._last_abort_offset is not None:
            self._last_abort_offset = offset
        if is_new_file:
            self._unsynced.note_new_name()

    def _aborted_by(
        self, header: BatchHeader, batch: Buffer, offset: int
    ) -> TransactionEntry | None:
        producer_id = header.producer_id
        state = self.producers.get(producer_id)
        if state is None or not state.has_transaction:
            return None
        marker = read_marker(batch)
        if marker is None or marker.is_commit:
            return None
        first_offset = state.current_txn_first_offset
        completed = CompletedTransaction(producer_id, first_offset, offset, True)
        stable = self.producers.last_stable_offset(completed)
        return TransactionEntry(producer_id, first_offset, offset, stable)

    def append_as_follower(self, batches: Buffer, now_ms: int) -> AppendInfo:
        """Write batches as a leader has them, in one call. Not durable on return.

        Nothing is assigned: offsets and epochs are those in the batches. A last batch
        that was cut is left out; without any whole one nothing is done, and the
        offsets returned are -1.

        Raises:
            CorruptMessage, OffsetsOutOfOrder: as `batch_analysis.analyse`.
            UnexpectedAppendOffset: they begin below the log end.
            RecordListTooLarge: more than a segment takes.
            DiskFull: nothing was written; it may be tried again.
            KafkaStorageError: the log has failed.
        """
        return self._append_as_sent(batches, now_ms, AppendOrigin.REPLICATION)

    def _append_as_sent(
        self, batches: Buffer, now_ms: int, origin: AppendOrigin
    ) -> AppendInfo:
        self._check_writable()
        found = analyse(batches)
        start, end = self.log_start_offset, self.local.end.offset
        if not found.batches:
            return AppendInfo(-1, -1, -1, -1, start)
        if found.first_offset < end:
            raise UnexpectedAppendOffset(found, start, end)
        size, size_max = found.valid_size, self.config.segment_bytes
        if size > size_max:
            raise RecordListTooLarge(f"{size} bytes, segment.bytes is {size_max}")
        view = memoryview(batches)[:size]
        for position, header in found.batches:
            if header.producer_id >= 0:
                batch = view[position : position + header.size]
                self.producers.check(header, batch, origin)
        has_rolled = self._write_replicated(found, view, now_ms)
        first = found.batches[0][1]
        return AppendInfo(
            found.first_offset,
            found.last_offset,
            found.max_timestamp,
            -1,
            start,
            size,
            has_rolled=has_rolled,
            compression=first.compression,
            last_offset_of_first_batch=first.last_offset,
            offset_of_max_timestamp=found.offset_of_max_timestamp,
        )

    def append_as_raft_leader(
        self, batches: Buffer, leader_epoch: int, now_ms: int
    ) -> AppendInfo:
        """Write batches that the leader of a Raft quorum has made of its records.

        It gave them offsets and its epoch.

        Raises:
            InvalidRecord: a batch of another epoch than ``leader_epoch``.
            KafkaError: as `append_as_follower`.
        """
        for _, header in analyse(batches).batches:
            if header.partition_leader_epoch != leader_epoch:
                raise InvalidRecord(
                    f"the batch at offset {header.base_offset} has leader epoch"
                    f" {header.partition_leader_epoch}, not {leader_epoch}"
                )
        return self._append_as_sent(batches, now_ms, AppendOrigin.RAFT_LEADER)

    def _write_replicated(
        self, found: BatchAnalysis, data: memoryview, now_ms: int
    ) -> bool:
        """Write them and note what they change. Returns whether a segment began."""
        local, end = self.local, self.local.end.offset
        latest = found.max_timestamp, found.offset_of_max_timestamp
        try:
            has_rolled = local.active.should_roll(
                len(data), latest[0], found.last_offset, now_ms
            )
            if has_rolled:
                # The segment is called after what it begins with, as the leader's is.
                self.roll(now_ms, found.first_offset)
            local.append(data, found.last_offset, *latest)
            for position, header in found.batches:
                batch = data[position : position + header.size]
                self._note_replicated(header, batch, now_ms)
        except StorageFailure as error:
            self.fail(error)
            raise
        except MISSING as error:
            raise self.fail_without_files(error) from error
        except KafkaStorageError:  # no room, or too many open files
            if local.end.offset > end:
                self.truncate_to(end, now_ms)
            raise
        return has_rolled

    def _note_replicated(
        self, header: BatchHeader, batch: memoryview, now_ms: int
    ) -> None:
        base_offset, producers = header.base_offset, self.producers
        if header.partition_leader_epoch > self.epochs.latest_epoch:
            self.epochs.assign(header.partition_leader_epoch, base_offset)
        if header.producer_id >= 0:
            if header.is_control:
                self._index_abort(header, batch, base_offset, now_ms)
            completed = producers.add(header, batch, base_offset, header.max_timestamp)
            if completed is not None:
                producers.complete(completed)
        producers.map_end_offset = header.next_offset

    def start_verification(
        self,
        producer_id: int,
        sequence: int,
        producer_epoch: int,
        now_ms: int,
        epoch_bump: bool = False,
    ) -> "VerificationGuard | None":
        """The guard that a batch of a transaction has to show when it is appended.

        None when it needs none, because its transaction is open here already.

        Raises:
            InvalidProducerEpoch: a newer instance of the producer has written here.
        """
        return self.producers.start_verification(
            producer_id, sequence, producer_epoch, now_ms, epoch_bump
        )

    def continue_verifications(self, verifications: "VerificationStates") -> None:
        """Let the guards hold that were given before the log was created."""
        self.producers.verifications = verifications

    def roll(self, now_ms: int, expected_next_offset: int = 0) -> None:
        """Seal the active segment and begin another, at the log end or later.

        The producers as they are now are kept beside the new segment, so that they
        need not be read from the segments before it. The next sync writes them down.
        """
        sealed = self.local.active
        active = self.local.roll(expected_next_offset, now_ms)
        # Before anything else can fail: the new names are to be synced.
        self._unsynced.note_roll(None if sealed is active else sealed)
        self._watermarks.follow_roll()
        self._unsynced.note_snapshot_due(active.base_offset, self.producers.picture())

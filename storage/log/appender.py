"""Appending to a log: a batch is checked, gets its place, and goes to the segment.

Invariant: an append is checked completely before anything changes: a refused batch
leaves producers, epochs and segments as they were.
"""

from typing import TYPE_CHECKING, TypeAlias

from odradek.protocol.errors import RecordListTooLarge
from odradek.protocol.record_batch import (
    COMPRESSION_MASK,
    CONTROL,
    next_sequence,
    stamp,
    stamp_sized,
)
from odradek.storage.files.files import MISSING, Buffer, StorageFailure
from odradek.storage.local.local_log import KEPT_SIZE_MAX
from odradek.storage.producers.append_info import (
    AppendInfo,
    AppendOrigin,
    info_of_duplicate,
)
from odradek.storage.producers.marker import BuiltMarker
from odradek.storage.producers.state import BatchMetadata, ProducerState
from odradek.storage.producers.states import CompletedTransaction
from odradek.storage.validation.usual_batch import (
    check_usual,
    usual_batch,
    usual_marker,
)
from odradek.storage.validation.validator import ValidBatch, validate
from odradek.storage.values.offset_metadata import OffsetMetadata

from .abort_index import AbortIndex
from .state import LogState

if TYPE_CHECKING:
    from odradek.storage.producers.verification_state import VerificationGuard

# The version of transactions from which a marker's epoch is above its transaction's.
_BUMPS_EPOCH = 2
# A batch's base offset, the offset behind it, and where the log starts.
Placed: TypeAlias = tuple[int, int, int]
_new = tuple.__new__


class Appender:
    """The log as a leader sees it, who appends batch by batch."""

    __slots__ = ("_aborts", "_epochs", "_local", "_producers", "_state", "_watermarks")

    def __init__(self, state: LogState, aborts: AbortIndex) -> None:
        self._state = state
        self._aborts = aborts
        # Not through the state: every append asks for each of them, some twice.
        self._local = state.local
        self._epochs = state.epochs
        self._producers = state.producers
        self._watermarks = state.watermarks

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
            KafkaError: what `log_validator` and `producer_append` refuse.
            RecordListTooLarge: more than a segment takes.
            DiskFull: nothing was written; it may be tried again.
            KafkaStorageError: the log has failed.
        """
        state, local = self._state, self._local
        if state.failure is not None:
            state.check_writable()
        config = local.config
        rules = local.usual_rules
        valid = (
            (origin is AppendOrigin.COORDINATOR and usual_marker(batch, rules, now_ms))
            or usual_batch(batch, rules, now_ms)
            or validate(batch, config, now_ms, origin, state.topic_partition)
        )
        header = valid.header
        size, size_max = len(valid.batch), config.segment_bytes
        if size > size_max:
            raise RecordListTooLarge(f"{size} bytes, segment.bytes is {size_max}")
        if header.producer_id >= 0:
            duplicate = self._producers.check(
                header, valid.batch, origin, guard, transaction_version
            )
            if duplicate is not None:
                return info_of_duplicate(duplicate, self._watermarks.log_start_offset)
        return self._write(valid, leader_epoch, now_ms)

    def append_usual(
        self,
        batch: memoryview,
        leader_epoch: int,
        now_ms: int,
        guard: "VerificationGuard | None" = None,
    ) -> Placed | None:
        """What `append_as_leader` does with the batch that nearly every client sends.

        None, and nothing was done, where anything is special: the batch, the topic, its
        place in the log. Then it is for `append_as_leader`; ``guard`` is as there.

        Raises:
            KafkaError: as there.
        """
        state, local, producers = self._state, self._local, self._producers
        rules, size = local.usual_rules, len(batch)
        if (
            rules is None
            or batch.readonly
            or size > rules[0]
            or state.failure is not None
            or leader_epoch != self._epochs.latest_epoch
            or (fields := check_usual(batch, now_ms, rules[1], rules[2], rules[3]))
            is None
        ):
            return None
        kind, delta, _, max_timestamp, producer_id, epoch, sequence, _ = fields[5:]
        producer = None
        if producer_id >= 0 or kind:  # which of a usual batch is: in a transaction
            producer = producers.follows(producer_id, epoch, sequence, kind != 0, guard)
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
            state.fail(error)
            raise
        except MISSING as error:
            raise state.fail_without_files(error) from error
        next_offset = last_offset + 1
        local.end = _new(OffsetMetadata, (next_offset, segment_base, position + size))
        tail = active.reader.tail
        if size > KEPT_SIZE_MAX or tail is None:
            local.keep(batch, base_offset)
        else:
            tail.add(batch, position, base_offset, next_offset)
        if producer is not None:
            added = next_sequence(sequence, delta), last_offset, delta, max_timestamp
            producer.add_batch(epoch, _new(BatchMetadata, added))
            if guard is not None:
                producers.begin(producer, base_offset)
        producers.map_end_offset = next_offset
        state.appended_bytes += size
        return base_offset, next_offset, self._watermarks.log_start_offset

    def append_usual_marker(
        self, batch: memoryview, marker: BuiltMarker, leader_epoch: int, now_ms: int
    ) -> Placed | None:
        """The same with the marker of a coordinator that was built just now.

        It commits a transaction that is open here: an abort is noted in an index, too.

        Raises:
            KafkaError: as `append_as_leader`.
        """
        state, local, producers = self._state, self._local, self._producers
        rules, size, active = local.usual_rules, len(batch), local.active
        producer_id, epoch, is_commit, coordinator_epoch, _ = marker
        base_offset = local.end.offset
        if (
            rules is None
            or size > rules[0]
            or state.failure is not None
            or leader_epoch != self._epochs.latest_epoch
            or not is_commit
            or not active.log.size
            or active.should_roll(size, now_ms, base_offset, now_ms)
            or (producer := producers.ending(producer_id)) is None
            or not _ends(marker, producer)
        ):
            return None
        stamp_sized(batch, base_offset, size, leader_epoch)
        try:
            local.append(batch, base_offset, now_ms, base_offset)
        except StorageFailure as error:
            state.fail(error)
            raise
        except MISSING as error:
            raise state.fail_without_files(error) from error
        local.keep(batch, base_offset)
        first_offset = producer.current_txn_first_offset
        producer.end_transaction(epoch, coordinator_epoch, now_ms)
        ended = producer_id, first_offset, base_offset, False
        producers.complete(_new(CompletedTransaction, ended))
        producers.map_end_offset = next_offset = base_offset + 1
        state.appended_bytes += size
        return base_offset, next_offset, self._watermarks.log_start_offset

    def _write(self, valid: ValidBatch, leader_epoch: int, now_ms: int) -> AppendInfo:
        batch, header, max_timestamp, log_append_time_ms = valid
        state, local, producers = self._state, self._local, self._producers
        attributes = header.attributes
        base_offset = local.end.offset
        last_offset = base_offset + header.last_offset_delta
        size = len(batch)
        stamp(batch, base_offset, leader_epoch)
        try:
            has_rolled = local.active.should_roll(
                size, max_timestamp, last_offset, now_ms
            )
            if has_rolled:
                state.roll(now_ms)
            local.append(batch, last_offset, max_timestamp, last_offset)
            if attributes & CONTROL:
                self._aborts.note_marker(header, batch, base_offset, now_ms)
        except StorageFailure as error:
            state.fail(error)
            raise
        except MISSING as error:
            raise state.fail_without_files(error) from error
        local.keep(batch, base_offset)
        if leader_epoch > self._epochs.latest_epoch:
            self._epochs.assign(leader_epoch, base_offset)
        if header.producer_id >= 0:
            completed = producers.add(header, batch, base_offset, max_timestamp)
            if completed is not None:
                producers.complete(completed)
        producers.map_end_offset = last_offset + 1
        state.appended_bytes += size
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


def _ends(marker: BuiltMarker, producer: ProducerState) -> bool:
    """Whether the producer's transaction is the one that a marker ends, for sure."""
    _, epoch, _, coordinator_epoch, version = marker
    current = producer.producer_epoch
    return coordinator_epoch >= producer.coordinator_epoch and (
        epoch > current if version >= _BUMPS_EPOCH else epoch == current
    )

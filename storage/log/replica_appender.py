"""Appending batches that have their offsets already, as another replica made them.

Invariant: all batches of an append are checked before the first one is written, and
they reach the segment in one call. When the disk gets full none of them is there.
"""

from odradek.protocol.checksum import crc32c
from odradek.protocol.errors import KafkaStorageError, RecordListTooLarge
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    CHECKED_POSITION,
    CONTROL,
    CURRENT_MAGIC,
    LOG_OVERHEAD,
    BatchHeader,
    unpack_header,
)
from odradek.storage.files.files import MISSING, Buffer, StorageFailure
from odradek.storage.producers.append_info import AppendInfo, AppendOrigin
from odradek.storage.validation.batch_analysis import (
    BatchAnalysis,
    UnexpectedAppendOffset,
    analyse,
)

from .abort_index import AbortIndex
from .state import LogState
from .truncation import LogTruncation

_REPLICATION = AppendOrigin.REPLICATION
# NamedTuple's own constructor costs twice as much as the tuple.
_new = tuple.__new__


class ReplicaAppender:
    """The log as those see it who append batches as they were sent."""

    __slots__ = ("_aborts", "_state", "_truncation")

    def __init__(
        self, state: LogState, aborts: AbortIndex, truncation: LogTruncation
    ) -> None:
        self._state = state
        self._aborts = aborts
        self._truncation = truncation

    def append_as_follower(
        self, batches: Buffer, now_ms: int, epoch_max: int | None = None
    ) -> AppendInfo:
        """Write batches as a leader has them, in one call. Not durable on return.

        From the first one on that is of a leader epoch above ``epoch_max`` nothing is
        written: who answered leads in an epoch that we do not follow yet.

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
        state = self._state
        state.check_writable()
        found = analyse(batches)
        if epoch_max is not None:
            found = found.up_to_epoch(epoch_max)
        start, end = state.watermarks.log_start_offset, state.local.end.offset
        if not found.batches:
            return AppendInfo(-1, -1, -1, -1, start)
        if found.first_offset < end:
            raise UnexpectedAppendOffset(found, start, end)
        size, size_max = found.valid_size, state.local.config.segment_bytes
        if size > size_max:
            raise RecordListTooLarge(f"{size} bytes, segment.bytes is {size_max}")
        view = memoryview(batches)[:size]
        for position, header in found.batches:
            if header.producer_id >= 0:
                batch = view[position : position + header.size]
                state.producers.check(header, batch, _REPLICATION)
        has_rolled = self.write(found, view, now_ms)
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

    def append_usual(self, batches: memoryview, now_ms: int, epoch_max: int) -> bool:
        """What `append_as_follower` does with the batches that mostly come.

        False, and nothing was done, where anything is special: they do not follow the
        log end and each other, one begins an epoch, is a control batch, is cut or
        damaged, or they belong into a new segment.

        Raises:
            DiskFull, KafkaStorageError: as there.
        """
        state, local, size = self._state, self._state.local, len(batches)
        epoch = state.epochs.latest_epoch
        if (
            state.failure is not None
            or size > local.config.segment_bytes
            or epoch > epoch_max
        ):
            return False
        found = _usual_batches(batches, local.end.offset, epoch)
        if not found:
            return False
        _, last = found[-1]
        last_offset, max_timestamp = last[0] + last[6], last[8]
        if len(found) > 1:
            max_timestamp = max(header.max_timestamp for _, header in found)
        if local.active.should_roll(size, max_timestamp, last_offset, now_ms):
            return False
        producers = state.producers
        of_producers = [
            (header, batches[position : position + header.size])
            for position, header in found
            if header[9] >= 0
        ]
        for header, batch in of_producers:
            producers.check(header, batch, _REPLICATION)
        try:
            if len(found) == 1:
                local.append(batches, last_offset, max_timestamp, last_offset)
            else:
                local.append_batches(batches, last_offset)
        except StorageFailure as error:
            state.fail(error)
            raise
        except MISSING as error:
            raise state.fail_without_files(error) from error
        for header, batch in of_producers:
            producers.add(header, batch, header.base_offset, header.max_timestamp)
        producers.map_end_offset = last_offset + 1
        return True

    def write(self, found: BatchAnalysis, data: memoryview, now_ms: int) -> bool:
        """Write checked batches in one call, and note what they change.

        ``found`` is what `analyse` says of ``data``. Returns whether a segment began.

        Raises:
            DiskFull: nothing was written; it may be tried again.
            KafkaStorageError: the log has failed.
        """
        state, local = self._state, self._state.local
        end = local.end.offset
        try:
            has_rolled = local.active.should_roll(
                len(data), found.max_timestamp, found.last_offset, now_ms
            )
            if has_rolled:
                # The segment is called after what it begins with, as the leader's is.
                state.roll(now_ms, found.first_offset)
            local.append_batches(data, found.last_offset)
            for position, header in found.batches:
                batch = data[position : position + header.size]
                self._note_replicated(header, batch, now_ms)
        except StorageFailure as error:
            state.fail(error)
            raise
        except MISSING as error:
            raise state.fail_without_files(error) from error
        except KafkaStorageError:  # no room, or too many open files
            if local.end.offset > end:
                self._truncation.truncate_to(end, now_ms)
            raise
        return has_rolled

    def _note_replicated(
        self, header: BatchHeader, batch: memoryview, now_ms: int
    ) -> None:
        base_offset = header.base_offset
        producers, epochs = self._state.producers, self._state.epochs
        if header.partition_leader_epoch > epochs.latest_epoch:
            epochs.assign(header.partition_leader_epoch, base_offset)
        if header.producer_id >= 0:
            if header.is_control:
                self._aborts.note_marker(header, batch, base_offset, now_ms)
            completed = producers.add(header, batch, base_offset, header.max_timestamp)
            if completed is not None:
                producers.complete(completed)
        producers.map_end_offset = header.next_offset


def _usual_batches(
    data: memoryview, next_offset: int, epoch: int
) -> list[tuple[int, BatchHeader]] | None:
    """Positions and headers of sound batches that follow each other from there on.

    None where there is any other: see `ReplicaAppender.append_usual`.
    """
    found, position, size = [], 0, len(data)
    while position < size:
        if size - position < BATCH_OVERHEAD:
            return None
        header = _new(BatchHeader, unpack_header(data, position))
        base_offset, length, in_epoch, magic, crc, attributes, delta = header[:7]
        end = position + LOG_OVERHEAD + length
        if (
            base_offset != next_offset
            or in_epoch != epoch
            or magic != CURRENT_MAGIC
            or attributes & CONTROL
            or delta < 0
            or not position + BATCH_OVERHEAD <= end <= size
            or crc32c(data[position + CHECKED_POSITION : end]) != crc
        ):
            return None
        found.append((position, header))
        position, next_offset = end, base_offset + delta + 1
    return found

"""Writing to a log: a batch is checked, gets its place, and goes to the segment.

Invariant: an append is checked completely before anything changes: a refused batch
leaves producers, epochs and segments as they were.
"""

import logging

from protocol.errors import RecordListTooLarge
from protocol.record_batch import stamp

from .append_info import AppendInfo, AppendOrigin, info_of_duplicate
from .files import Buffer, DiskFull, File, StorageFailure
from .log_state import LogState
from .log_validator import ValidBatch, validate
from .producer_snapshot import snapshot_path
from .usual_batch import usual_batch

_log = logging.getLogger(__name__)
_new = tuple.__new__


class LogWriter(LogState):
    """The log as those see it who append to it."""

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

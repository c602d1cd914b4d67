"""Cutting a log from its end, as a follower does whose leader has another history.

A kill may come at any step, and what is in the files then is a log: the one before,
the one after, or one that ends between. So

1. the watermarks fall, and the caller writes the checkpoints with them: a log that
   ends below its checkpointed recovery point would look like one that lost records;
2. segments go from the last to the first, which leaves no hole; their files are
   renamed now and deleted later by who asks for `take_removed_segments`;
3. the segment that holds the offset is cut, its indexes first;
4. epochs, producers and quarantine forget what they knew of it. What their files
   still say of it is dropped again when the log is loaded.

The next sync makes all of it durable. One that is under way knows of it (`Unsynced`).
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.files import MISSING, DiskFull
from odradek.storage.indexes.mapped_index import CorruptIndex
from odradek.storage.producers.snapshot import list_snapshots, snapshot_path
from odradek.storage.segment.log_segment import LogSegment

from .producer_rebuild import rebuild_producers
from .state import LogState

_log = logging.getLogger(__name__)


def _no_checkpoint() -> None:
    """For a log whose checkpoints are not above the offset."""


class LogTruncation:
    """Cuts a log, and keeps what it has taken out until somebody asks."""

    __slots__ = ("_removed", "_state")

    def __init__(self, state: LogState) -> None:
        self._state = state
        self._removed: tuple[LogSegment, ...] = ()

    def truncate_to(
        self,
        offset: int,
        now_ms: int,
        checkpoint: Callable[[], None] = _no_checkpoint,
    ) -> bool:
        """Remove everything from ``offset`` on. Returns whether that was anything.

        The log ends at ``offset`` afterwards, also when that was inside of a batch,
        which goes as a whole. Below the first segment the log begins anew at
        ``offset``. ``checkpoint`` writes recovery point and log start; it is called
        once they have fallen, before any file changes.

        Raises:
            ValueError: ``offset`` is negative.
            KafkaStorageError: the disk fails; then the log has failed. But nothing has
                changed if ``checkpoint`` finds no room (`DiskFull`).
        """
        state, marks = self._state, self._state.watermarks
        local, producers = state.local, state.producers
        state.check_writable()
        if offset < 0:
            raise ValueError(f"cannot truncate to offset {offset}")
        end = local.end.offset
        if offset >= end:
            # An epoch that began at the end, without records, may be another's.
            state.epochs.truncate_from_end(end)
            return False
        if offset < local.segments.first.base_offset:
            self.truncate_fully_and_start_at(offset, now_ms, checkpoint=checkpoint)
            return True
        if offset < marks.high.offset:
            state.lines(_log).warning(
                "truncated to %d, below the high watermark, %d",
                offset,
                marks.high.offset,
            )
        self._fall_to(offset, checkpoint)
        with self._failing():
            gone = local.truncate_to(offset, now_ms)
            self._forget(gone)
            state.epochs.truncate_from_end(offset)
            state.quarantine.truncate_from_end(offset)
            self._tell_segments_of_quarantine()
            rebuild_producers(local, producers, marks.log_start_offset, now_ms)
            producers.on_high_watermark(marks.high.offset)
        return True

    def truncate_fully_and_start_at(
        self,
        offset: int,
        now_ms: int,
        log_start: int | None = None,
        checkpoint: Callable[[], None] = _no_checkpoint,
    ) -> None:
        """Remove everything, and let the log begin and end at ``offset``.

        ``log_start`` is the log start when that is lower: records in tiered storage.
        ``checkpoint`` as in `truncate_to`.

        Raises:
            KafkaStorageError: the disk fails; then the log has failed.
        """
        state = self._state
        state.check_writable()
        if offset < 0:
            raise ValueError(f"a log cannot start at offset {offset}")
        first = state.local.segments.first.base_offset
        self._fall_to(min(offset, first), checkpoint)
        with self._failing():
            gone = state.local.truncate_fully_and_start_at(offset, now_ms)
            start = offset if log_start is None else log_start
            state.watermarks.begin_at(state.local.end, start)
            self._forget(gone)
            state.epochs.clear()
            state.quarantine.clear()
            self._remove_snapshots()
            state.producers.clear()
            state.producers.map_end_offset = offset

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Fail with the disk: a log that is half truncated is not to be written to."""
        try:
            yield
        except KafkaStorageError as error:
            self._state.fail(error)
            raise
        except MISSING as error:
            raise self._state.fail_without_files(error) from error
        except CorruptIndex as error:
            failure = KafkaStorageError(str(error))  # recovery makes the index anew
            self._state.fail(failure)
            raise failure from error

    def _fall_to(self, offset: int, checkpoint: Callable[[], None]) -> None:
        """Have the marks fall, on the disk first; without room there they stay."""
        marks = self._state.watermarks
        before = marks.high, marks.durable, marks.log_start_offset
        full: DiskFull | None = None
        with self._failing():
            # Where no record follows, the place is that of the log end.
            place = self._state.local.maybe_convert_to_offset_metadata(offset)
            marks.fall_to(place._replace(offset=offset))
            try:
                checkpoint()
            except DiskFull as error:
                marks.high, marks.durable, marks.log_start_offset = before
                full = error
        if full is not None:
            raise full

    def take_removed_segments(self) -> list[LogSegment]:
        """The segments that truncation took out since the last call.

        Their files have the suffix ``.deleted`` and are to be removed after
        ``file.delete.delay.ms``.
        """
        removed, self._removed = list(self._removed), ()
        return removed

    def _forget(self, gone: list[LogSegment]) -> None:
        end = self._state.local.end
        self._removed += tuple(gone)
        self._state.watermarks.fall_to(end)
        self._state.unsynced.note_truncation(end, gone)

    def _tell_segments_of_quarantine(self) -> None:
        quarantine = self._state.quarantine
        for segment in self._state.local.segments:
            segment.reader.quarantined = quarantine.of_segment(segment.base_offset)

    def _remove_snapshots(self) -> None:
        local = self._state.local
        self._state.unsynced.forget_snapshots()
        files, directory = local.files, local.directory
        for offset in list_snapshots(files, directory):
            files.unlink(snapshot_path(directory, offset))

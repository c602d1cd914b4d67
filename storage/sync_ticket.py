"""What one sync of a log makes durable.

A ticket is drawn on the loop, run in a disk thread, and handed back on the loop:

    ticket = log.begin_sync()      # notes the end of the log, and what is unsynced
    ticket.run()                   # waits for the disk; the log goes on appending
    log.finish_sync(ticket)        # all below ticket.end is durable now

It holds values and files, nothing of the log's state. `run` does, in this order:

1. the bytes: log files, indexes and snapshots of sealed segments;
2. the small files that are replaced (partition.metadata, leader epochs), then the
   names: the partition's directory and, the first time, the one above it;
3. the producer snapshot at ``end``, if one is due, and then the removal of the one
   before it.

So the recovery point never passes anything that a reader after a crash would miss.
"""

import logging
from contextlib import suppress
from pathlib import Path

from .checkpoints import EPOCHS_NAME
from .files import DiskFull, File, Files
from .leader_epochs import LeaderEpochs
from .local_log import LocalLog
from .log_segment import LogSegment
from .offset_metadata import OffsetMetadata
from .producer_snapshot import snapshot_path
from .producer_states import ProducerStates

NO_OFFSET = -1

_log = logging.getLogger(__name__)


class SyncTicket:
    """One sync: of everything that a log had up to ``end``.

    ``files`` are those with unsynced bytes. Who syncs the whole file system first
    clears their ``is_dirty``; `run` then does what remains. ``unwritten`` are the
    small files for which there was no room.
    """

    def __init__(self, files: Files, directory: Path, end: OffsetMetadata) -> None:
        self.end = end
        self.files: list[File] = []
        self.has_new_names = False
        self.is_new_directory = False
        self.texts: dict[str, bytes] = {}
        self.unwritten: dict[str, bytes] = {}
        self.snapshot: tuple[Path, bytes] | None = None
        self.old_snapshots: list[Path] = []
        self._files = files
        self._directory = directory

    def run(self) -> None:
        """Make it durable. Waits for the disk; for a disk thread.

        Raises:
            StorageFailure: the log must `fail` with it; never to be run again.
        """
        for file in self.files:
            # Retention may have removed the file: then nothing in it matters.
            with suppress(FileNotFoundError):
                if file.is_dirty:
                    file.sync()
        if not (self.texts or self.has_new_names or self.snapshot):
            return
        try:
            self._write_texts()
            if self.has_new_names:
                self._files.sync_directory(self._directory)
            if self.is_new_directory:
                self._files.sync_directory(self._directory.parent)
            self._write_snapshot()
        except FileNotFoundError:
            # The partition was deleted meanwhile, and its directory renamed.
            if self._files.exists(self._directory):
                raise

    def _write_texts(self) -> None:
        for name, data in self.texts.items():
            try:
                self._files.write_atomic(self._directory / name, data)
            except DiskFull as error:
                _log.warning("%s is not written: %s", self._directory / name, error)
                self.unwritten[name] = data

    def _write_snapshot(self) -> None:
        if self.snapshot is None:
            return
        path, data = self.snapshot
        try:
            self._files.write_atomic(path, data)
        except DiskFull as error:
            _log.warning("no producer snapshot %s: %s", path, error)
            return
        for old in self.old_snapshots:
            self._files.unlink(old)


class Unsynced:
    """What a log has not made durable yet, besides the bytes of its active segment."""

    def __init__(self) -> None:
        self._sealed: list[LogSegment] = []
        self._snapshots: list[File] = []
        self._texts: dict[str, bytes] = {}
        self._has_new_names = False
        self._is_new_directory = False
        self._last_snapshot = NO_OFFSET

    def note_new_directory(self, texts: dict[str, bytes]) -> None:
        """The log is new, with its directory; ``texts`` are its small files."""
        self._texts.update(texts)
        self._has_new_names = self._is_new_directory = True

    def note_roll(self, sealed: LogSegment | None, snapshot: File | None) -> None:
        """A segment was sealed, a snapshot written beside it, and a new one begun."""
        if sealed is not None:
            self._sealed.append(sealed)
        if snapshot is not None:
            self._snapshots.append(snapshot)
        self._has_new_names = True

    def note_snapshot(self, offset: int) -> None:
        """There is a durable snapshot at ``offset``, beside no segment."""
        self._last_snapshot = offset

    def draw(
        self,
        local: LocalLog,
        epochs: LeaderEpochs,
        is_behind: bool,
        producers: ProducerStates | None,
    ) -> SyncTicket | None:
        """A ticket for all of it, with a snapshot of ``producers`` if they are given.

        None when everything is durable; ``is_behind`` says that the log end is not.
        """
        end = local.end
        is_snapshot_due = producers is not None and end.offset != self._last_snapshot
        if not (is_behind or self._has_new_names or epochs.is_dirty or is_snapshot_due):
            return None
        ticket = SyncTicket(local.files, local.directory, end)
        if producers is not None and is_snapshot_due:
            _flush_indexes(local)
            path = snapshot_path(local.directory, end.offset)
            ticket.snapshot = path, producers.encode()
            if local.segments.get(self._last_snapshot) is None:
                ticket.old_snapshots = self._last_snapshot_path(local)
            self._last_snapshot = end.offset
        for segment in (*self._sealed, local.active):
            ticket.files += segment.dirty_files()
        if self._has_new_names or epochs.is_dirty:
            self._move_rare_parts(ticket, epochs)
        return ticket

    def take_back(self, ticket: SyncTicket, epochs: LeaderEpochs) -> None:
        """Keep what the disk had no room for, for the next ticket."""
        if ticket.unwritten.pop(EPOCHS_NAME, None) is not None:
            epochs.is_dirty = True
        if ticket.unwritten:
            self._texts.update(ticket.unwritten)
            self._has_new_names = True

    def _move_rare_parts(self, ticket: SyncTicket, epochs: LeaderEpochs) -> None:
        ticket.files += [file for file in self._snapshots if file.is_dirty]
        ticket.has_new_names = self._has_new_names
        ticket.is_new_directory = self._is_new_directory
        ticket.texts = self._texts
        if epochs.is_dirty:
            ticket.texts[EPOCHS_NAME] = epochs.encode()
            epochs.mark_flushed()
        self._sealed, self._snapshots, self._texts = [], [], {}
        self._has_new_names = self._is_new_directory = False

    def _last_snapshot_path(self, local: LocalLog) -> list[Path]:
        if self._last_snapshot == NO_OFFSET:
            return []
        return [snapshot_path(local.directory, self._last_snapshot)]


def _flush_indexes(local: LocalLog) -> None:
    try:
        local.active.flush_indexes()
    except DiskFull as error:
        # They can be written from the log again.
        _log.warning("indexes of %s are not written: %s", local.directory, error)

"""What one sync of a log makes durable.

A ticket is drawn on the loop, run in a disk thread, and handed back on the loop:

    ticket = log.begin_sync()      # notes the end of the log, and what is unsynced
    ticket.run()                   # waits for the disk; the log goes on appending
    log.finish_sync(ticket)        # all below ticket.end is durable now

A ticket holds values and files, nothing of the log's state. In this order:

1. the bytes: log files, indexes and snapshots of sealed segments;
2. the small files that are replaced (partition.metadata, leader epochs), then the
   names: the partition's directory and, the first time, the one above it;
3. the producer snapshot at ``end``, if one is due, and then the removal of the
   one before it.

So the recovery point never passes anything that a reader after a crash would miss.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from .files import File, Files
from .log_segment import LogSegment
from .offset_metadata import OffsetMetadata


class SyncTicket:
    """One sync: of everything that a log had up to ``end``.

    ``files`` are those with unsynced bytes. Who syncs the whole file system first
    clears their ``is_dirty``; `run` then does what remains.
    """

    def __init__(self, files: Files, directory: Path, end: OffsetMetadata) -> None:
        self.directory = directory
        self.end = end
        self.files: list[File] = []
        self.has_new_names = False
        self.is_new_directory = False
        self.texts: list[tuple[Path, bytes]] = []
        self.snapshot: tuple[Path, bytes] | None = None
        self.old_snapshots: Sequence[Path] = ()
        self._files = files

    def run(self) -> None:
        """Make it durable. Waits for the disk; for a disk thread.

        Raises:
            StorageFailure: the log must `fail` with it; never to be run again.
            DiskFull: no room for the small files; the next ticket has them again.
        """
        for file in self.files:
            # Retention may have removed the file: then nothing in it matters.
            with suppress(FileNotFoundError):
                if file.is_dirty:
                    file.sync()
        for path, data in self.texts:
            self._files.write_atomic(path, data)
        if self.has_new_names:
            self._files.sync_directory(self.directory)
        if self.is_new_directory:
            self._files.sync_directory(self.directory.parent)
        if self.snapshot is not None:
            self._files.write_atomic(*self.snapshot)
        for path in self.old_snapshots:
            self._files.unlink(path)


class Unsynced:
    """What a log has written, besides its active segment, since the last sync began."""

    def __init__(self) -> None:
        self.sealed: list[LogSegment] = []
        self.snapshots: list[File] = []
        self.has_new_names = False
        self.is_new_directory = False

    def __bool__(self) -> bool:
        return self.has_new_names or self.is_new_directory

    def note_roll(self, sealed: LogSegment, snapshot: File | None) -> None:
        """A segment was sealed, a snapshot written beside it, and a new one begun."""
        self.sealed.append(sealed)
        if snapshot is not None:
            self.snapshots.append(snapshot)
        self.has_new_names = True

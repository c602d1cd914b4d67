"""What one sync of a log makes durable.

A ticket is drawn on the loop, run in a disk thread, and handed back on the loop:

    ticket = log.syncing.begin()      # notes the end of the log, and what is unsynced
    ticket.run()                   # waits for the disk; the log goes on appending
    log.syncing.finish(ticket)        # all below ticket.end is durable now

It holds values and files, nothing of the log's state. `run` does, in this order:

1. the bytes: log files and indexes, partition.metadata of a new log;
2. the files that are replaced, under other names: leader epochs, and the producer
   snapshots: those beside segments that were begun, and if one is due that at ``end``;
   partition.metadata, if there was no room for it at first;
3. their names: they are renamed, the partition's directory is synced and, the first
   time, the one above it;
4. the removal of the producer snapshot before.

So the recovery point never passes anything that a reader after a crash would miss. For
many tickets at once, 1 and 2 may be one sync of the file system, and 3 another.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.files import MISSING, File, Files, StorageFailure
from odradek.storage.producers.snapshot import snapshot_name, snapshot_path
from odradek.storage.producers.table import ProducerPicture
from odradek.storage.values.log_lines import LogLines
from odradek.storage.values.offset_metadata import UNKNOWN_OFFSET, OffsetMetadata

from .segments import LogSegments

NO_OFFSET = -1

_log = logging.getLogger(__name__)


class SyncTicket:
    """One sync: of everything that a log had up to ``end``.

    ``files`` are those with unsynced bytes. Who syncs the whole file system first
    clears their ``is_dirty``; `run` then does what remains. ``unwritten`` are the
    small files for which there was no room.
    """

    # What most tickets have is said of the class: thousands are drawn in a second.
    is_plain = True  # there is nothing but ``files``
    has_new_names = False
    is_new_directory = False
    has_lost_directory = False
    texts: Mapping[str, bytes] = MappingProxyType({})
    unwritten: Mapping[str, bytes] = MappingProxyType({})
    snapshots: Mapping[int, ProducerPicture] = MappingProxyType({})  # by their offsets
    snapshot_offset = NO_OFFSET  # of the one at ``end``, the last of them
    old_snapshot = NO_OFFSET  # the one that it replaces
    place_before = UNKNOWN_OFFSET  # of the snapshot before
    has_last_snapshot = False  # the last of the snapshots was written
    finished: Sequence[File] = ()  # of the files, those that are not used any more

    def __init__(self, files: Files, directory: Path, end: OffsetMetadata) -> None:
        self.end = end
        self.files: list[File] = []
        self._files = files
        self._directory = directory
        self._written: Sequence[tuple[Path, Path]] = ()  # and the names to come

    def run(self) -> None:
        """Make it durable. Waits for the disk; for a disk thread.

        Raises:
            StorageFailure: the log must `fail` with it; never to be run again.
        """
        self.sync_files()
        if self.texts or self.has_new_names or self.snapshots:
            self.write_small_files(syncs=True)
            self.rename_small_files()
            self._sync_names()
            self.remove_replaced()

    def sync_files(self) -> None:
        """The bytes, as far as they are not synced; the first of four steps."""
        for file in self.files:
            # Retention may have removed the file: then nothing in it matters.
            with suppress(FileNotFoundError):
                if file.is_dirty:
                    file.sync()
        for file in self.finished:
            file.close()

    def write_small_files(self, syncs: bool) -> None:
        """The files that are replaced, under other names; the second step.

        Without ``syncs`` the caller syncs all of the file system behind it.
        """
        with self._unless_it_is_gone():
            for name, data in self.texts.items():
                if not self._write(name, (data,), syncs):
                    self.unwritten = {**self.unwritten, name: data}
            for offset, picture in self.snapshots.items():
                name, parts = snapshot_name(offset), picture.parts()
                self.has_last_snapshot = self._write(name, parts, syncs)

    def rename_small_files(self) -> None:
        """Give them their names; the third step, before the directories are synced."""
        with self._unless_it_is_gone():
            for temporary, path in self._written:
                self._files.rename(temporary, path)

    def _sync_names(self) -> None:
        """One sync of the directory for all of them, not one for each."""
        with self._unless_it_is_gone():
            self._files.sync_directory(self._directory)
            if self.is_new_directory:
                self._files.sync_directory(self._directory.parent)

    def remove_replaced(self) -> None:
        """Remove the snapshot before, once the new one is durable; the last step."""
        with self._unless_it_is_gone():
            if self.has_last_snapshot and self.old_snapshot != NO_OFFSET:
                self._unlink(self.old_snapshot)

    @contextmanager
    def _unless_it_is_gone(self) -> Iterator[None]:
        try:
            yield
        except MISSING:
            # The partition was deleted meanwhile, and its directory renamed; or
            # somebody else has removed it. On the loop it is known.
            if self._files.exists(self._directory):
                raise
            self.has_lost_directory = True

    def remove_stale_snapshots(self, segments: LogSegments) -> None:
        """Remove those that the log has outlived meanwhile.

        It was truncated below them, or their segment is gone.
        """
        for offset in self.snapshots:
            is_beside = offset != self.snapshot_offset
            if offset > self.end.offset or (is_beside and segments.get(offset) is None):
                self._unlink(offset)

    def _unlink(self, snapshot_offset: int) -> None:
        with suppress(FileNotFoundError):
            self._files.unlink(snapshot_path(self._directory, snapshot_offset))

    def _write(self, name: str, parts: Iterable[bytes], syncs: bool) -> bool:
        """Write what ``name`` is to hold; False when there is no room for it."""
        path = self._directory / name
        temporary = self._directory / f"{name}.tmp"
        try:
            self._files.unlink(temporary)
            file = self._files.open(temporary, create=True)
            for part in parts:
                file.append(part)
            if syncs:
                file.sync()
            file.close()
        except StorageFailure:
            raise
        except KafkaStorageError as error:  # no room, or too many open files
            LogLines(_log, self._directory).warning(
                "%s is not written: %s", name, error
            )
            self._files.unlink(temporary)
            return False
        self._written = (*self._written, (temporary, path))
        return True

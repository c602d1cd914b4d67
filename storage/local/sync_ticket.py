"""What one sync of a log makes durable.

A ticket is drawn on the loop, run in a disk thread, and handed back on the loop:

    ticket = log.syncing.begin()      # notes the end of the log, and what is unsynced
    ticket.run()                   # waits for the disk; the log goes on appending
    log.syncing.finish(ticket)        # all below ticket.end is durable now

It holds values and files, nothing of the log's state. `run` does, in this order:

1. the bytes: log files and indexes, partition.metadata of a new log;
2. the files that are replaced: leader epochs, and the producer snapshots: those beside
   segments that were begun, and if one is due that at ``end``; partition.metadata, if
   there was no room for it at first;
3. the names: the partition's directory and, the first time, the one above it;
4. the removal of the producer snapshot before.

So the recovery point never passes anything that a reader after a crash would miss.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.checkpoints import EPOCHS_NAME
from odradek.storage.files.files import MISSING, File, Files, StorageFailure
from odradek.storage.producers.snapshot import snapshot_name, snapshot_path
from odradek.storage.producers.states import ProducerStates
from odradek.storage.producers.table import ProducerPicture
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.values.log_lines import LogLines
from odradek.storage.values.offset_metadata import OffsetMetadata

from .leader_epochs import LeaderEpochs
from .local_log import LocalLog
from .segments import LogSegments

NO_OFFSET = -1
# Of the snapshots that wait for a sync, each holds what has changed since.
SNAPSHOTS_DUE_MAX = 16

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
    finished: Sequence[File] = ()  # of the files, those that are not used any more

    def __init__(self, files: Files, directory: Path, end: OffsetMetadata) -> None:
        self.end = end
        self.files: list[File] = []
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
        for file in self.finished:
            file.close()
        if not (self.texts or self.has_new_names or self.snapshots):
            return
        try:
            self._replace_files()
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

    def _replace_files(self) -> None:
        """One sync of the directory for all of them, not one for each."""
        for name, data in self.texts.items():
            if not self._replace(name, (data,)):
                self.unwritten = {**self.unwritten, name: data}
        is_written = False
        for offset, picture in self.snapshots.items():
            is_written = self._replace(snapshot_name(offset), picture.parts())
        self._files.sync_directory(self._directory)
        if self.is_new_directory:
            self._files.sync_directory(self._directory.parent)
        if is_written and self.old_snapshot != NO_OFFSET:
            self._unlink(self.old_snapshot)

    def _unlink(self, snapshot_offset: int) -> None:
        with suppress(FileNotFoundError):
            self._files.unlink(snapshot_path(self._directory, snapshot_offset))

    def _replace(self, name: str, parts: Iterable[bytes]) -> bool:
        """Let ``name`` hold ``parts``; False when there is no room for them."""
        path = self._directory / name
        temporary = self._directory / f"{name}.tmp"
        try:
            self._files.unlink(temporary)
            file = self._files.open(temporary, create=True)
            for part in parts:
                file.append(part)
            file.sync()
            file.close()
            self._files.rename(temporary, path)
        except StorageFailure:
            raise
        except KafkaStorageError as error:  # no room, or too many open files
            LogLines(_log, self._directory).warning(
                "%s is not written: %s", name, error
            )
            self._files.unlink(temporary)
            return False
        return True


class Unsynced:
    """What a log has not made durable yet, besides the bytes of its active segment."""

    __slots__ = (
        "_drawn",
        "_has_new_names",
        "_is_new_directory",
        "_last_snapshot",
        "_sealed",
        "_small_files",
        "_snapshots",
        "_texts",
    )

    def __init__(self) -> None:
        self._sealed: list[LogSegment] = []
        self._small_files: list[File] = []
        self._snapshots: dict[int, ProducerPicture] = {}
        self._texts: dict[str, bytes] = {}
        self._has_new_names = False
        self._is_new_directory = False
        self._last_snapshot = NO_OFFSET
        self._drawn: list[SyncTicket] = []

    def note_new_directory(self, texts: dict[str, bytes]) -> None:
        """The log is new, with its directory; ``texts`` are its small files."""
        self._texts.update(texts)
        self._has_new_names = self._is_new_directory = True

    def note_roll(self, sealed: LogSegment | None) -> None:
        """A segment was sealed, if it had anything in it, and a new one begun."""
        if sealed is not None:
            self._sealed.append(sealed)
        self._has_new_names = True

    def note_small_file(self, file: File) -> None:
        """A file is written that does not grow: of which topic a new log is."""
        self._small_files.append(file)
        self._has_new_names = True

    def forget_small_files(self) -> None:
        """Let go of those that no ticket has: their log is deleted.

        As long as they wait for a sync they are open.
        """
        for file in self._small_files:
            file.close()
        self._small_files = []

    def note_snapshot_due(self, offset: int, picture: ProducerPicture) -> None:
        """A snapshot is to be written beside the new segment that begins at ``offset``.

        Of many, which nobody has asked to be synced, the older ones are not written: a
        recovery begins behind them.
        """
        self._snapshots.pop(offset, None)
        self._snapshots[offset] = picture
        if len(self._snapshots) > SNAPSHOTS_DUE_MAX:
            del self._snapshots[next(iter(self._snapshots))]

    def note_new_name(self) -> None:
        """A file was made in the directory of the log."""
        self._has_new_names = True

    def note_truncation(self, end: OffsetMetadata, gone: Sequence[LogSegment]) -> None:
        """The log was cut down to ``end``, and lost the segments that are ``gone``.

        A ticket that is under way makes nothing durable behind ``end``: what is there
        when it is handed back was written after it was drawn.
        """
        self._sealed = [each for each in self._sealed if each not in gone]
        self._snapshots = {
            offset: picture
            for offset, picture in self._snapshots.items()
            if offset <= end.offset
        }
        self._has_new_names = True
        if self._last_snapshot > end.offset:
            self._last_snapshot = NO_OFFSET
        for ticket in self._drawn:
            if ticket.end.offset > end.offset:
                ticket.end = end

    def forget_snapshots(self) -> None:
        """Those that are due, and those that were written: their log is gone."""
        self._snapshots.clear()
        self._last_snapshot = NO_OFFSET

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
        is_more_due = self._has_new_names or epochs.is_dirty
        if producers is None and not (is_behind or is_more_due):
            return None
        ticket = SyncTicket(local.files, local.directory, local.end)
        if producers is not None:
            self._add_snapshot(ticket, local, producers)
        for segment in self._sealed:
            ticket.files += segment.dirty_files()
        ticket.files += local.active.dirty_files()
        if is_more_due:
            self._move_to(ticket, local, epochs)
        if is_behind or is_more_due or ticket.files or ticket.snapshots:
            self._drawn.append(ticket)
            return ticket
        return None

    def has_drawn(self, ticket: SyncTicket) -> bool:
        """Whether the ticket is of these files: the log may have others since."""
        return ticket in self._drawn

    def take_back(
        self, ticket: SyncTicket, segments: LogSegments, epochs: LeaderEpochs
    ) -> bool:
        """Keep what the disk had no room for, for the next ticket.

        False: the ticket is of other files, as `has_drawn` says.
        """
        if ticket not in self._drawn:
            return False
        self._drawn.remove(ticket)
        if ticket.is_plain:
            return True  # there was nothing but log files
        if ticket.snapshots:
            ticket.remove_stale_snapshots(segments)
        if ticket.unwritten:
            left = dict(ticket.unwritten)
            if left.pop(EPOCHS_NAME, None) is not None:
                epochs.is_dirty = True
            if left:
                self._texts.update(left)
                self._has_new_names = True
        return True

    def _add_snapshot(
        self, ticket: SyncTicket, local: LocalLog, producers: ProducerStates
    ) -> None:
        """Add a snapshot, unless there is one of that offset, and the indexes."""
        try:
            local.active.flush_indexes()
        except StorageFailure:
            raise
        except KafkaStorageError as error:
            # They can be written from the log again.
            lines = LogLines(_log, local.directory)
            lines.warning("the indexes are not written: %s", error)
        last, end = self._last_snapshot, local.end.offset
        if last == end:
            return
        ticket.is_plain = False
        ticket.snapshots = {end: producers.picture()}
        ticket.snapshot_offset = end
        if last != NO_OFFSET and local.segments.get(last) is None:
            ticket.old_snapshot = last
        self._last_snapshot = end

    def _move_to(
        self, ticket: SyncTicket, local: LocalLog, epochs: LeaderEpochs
    ) -> None:
        ticket.is_plain = False
        ticket.files += [file for file in self._small_files if file.is_dirty]
        ticket.finished = self._small_files
        beside = {
            offset: picture
            for offset, picture in self._snapshots.items()
            if local.segments.get(offset) is not None
        }
        ticket.snapshots = {**beside, **ticket.snapshots}
        ticket.has_new_names = self._has_new_names
        ticket.is_new_directory = self._is_new_directory
        if epochs.is_dirty:
            self._texts[EPOCHS_NAME] = epochs.encode()
            epochs.mark_flushed()
        ticket.texts = self._texts
        self._sealed, self._small_files, self._texts = [], [], {}
        self._snapshots = {}
        self._has_new_names = self._is_new_directory = False

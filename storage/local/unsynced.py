"""What a log has not made durable yet, from which its tickets are drawn.

A producer snapshot need not be at the recovery point. From the one before it on a
recovery reads the batches again, and that costs no more than writing one each time as
long as they are few: `SNAPSHOT_BYTES` at most, and what came since the last checkpoint.
"""

import logging
from collections.abc import Sequence

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.checkpoints import EPOCHS_NAME
from odradek.storage.files.files import File, StorageFailure
from odradek.storage.producers.states import ProducerStates
from odradek.storage.producers.table import ProducerPicture
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.values.log_lines import LogLines
from odradek.storage.values.offset_metadata import UNKNOWN_OFFSET, OffsetMetadata

from .leader_epochs import LeaderEpochs
from .local_log import LocalLog
from .segments import LogSegments
from .sync_ticket import SyncTicket

# Of the snapshots that wait for a sync, each holds what has changed since.
SNAPSHOTS_DUE_MAX = 16
# So much of a segment without a snapshot is read again in about the time in which one
# is written and synced.
SNAPSHOT_BYTES = 1 << 20

_log = logging.getLogger(__name__)


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
        self._last_snapshot = UNKNOWN_OFFSET
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
        if self._last_snapshot.offset > end.offset:
            self._last_snapshot = UNKNOWN_OFFSET
        for ticket in self._drawn:
            if ticket.end.offset > end.offset:
                ticket.end = end

    def forget_snapshots(self) -> None:
        """Those that are due, and those that were written: their log is gone."""
        self._snapshots.clear()
        self._last_snapshot = UNKNOWN_OFFSET

    def note_snapshot(self, place: OffsetMetadata) -> None:
        """There is a durable snapshot at ``place``, beside no segment."""
        self._last_snapshot = place

    def has_snapshot(self, offset: int) -> bool:
        """Whether one was written at ``offset``, or a ticket is out for it."""
        return self._last_snapshot.offset == offset

    def is_snapshot_due(self, end: OffsetMetadata) -> bool:
        """Whether a recovery at ``end`` would read much that a snapshot spares it.

        In a segment that was begun since the last one, there is one at its beginning.
        """
        last = self._last_snapshot
        start = last.position if last.on_same_segment(end) else 0
        return end.position - start >= SNAPSHOT_BYTES

    def draw(
        self,
        local: LocalLog,
        epochs: LeaderEpochs,
        is_behind: bool,
        producers: ProducerStates | None,
        with_indexes: bool = False,
    ) -> SyncTicket | None:
        """A ticket for all of it, with a snapshot of ``producers`` if they are given.

        None when everything is durable; ``is_behind`` says that the log end is not.
        ``with_indexes``: and their new entries; a snapshot never goes without them.
        """
        flushes = producers is not None or with_indexes
        if flushes:
            self._flush_indexes(local)
        is_more_due = self._has_new_names or epochs.is_dirty
        if not (flushes or is_behind or is_more_due):
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
            if not ticket.has_last_snapshot and self.has_snapshot(
                ticket.snapshot_offset
            ):
                self._last_snapshot = ticket.place_before
        if ticket.unwritten:
            left = dict(ticket.unwritten)
            if left.pop(EPOCHS_NAME, None) is not None:
                epochs.is_dirty = True
            if left:
                self._texts.update(left)
                self._has_new_names = True
        return True

    def _flush_indexes(self, local: LocalLog) -> None:
        indexes = local.active.indexes
        if indexes.offsets.file is None or indexes.times.file is None:
            self._has_new_names = True  # mostly: they come with the first entries
        try:
            local.active.flush_indexes()
        except StorageFailure:
            raise
        except KafkaStorageError as error:
            # They can be written from the log again.
            lines = LogLines(_log, local.directory)
            lines.warning("the indexes are not written: %s", error)

    def _add_snapshot(
        self, ticket: SyncTicket, local: LocalLog, producers: ProducerStates
    ) -> None:
        """Add a snapshot, unless there is one of that offset."""
        before, end = self._last_snapshot, local.end
        if before.offset == end.offset:
            return
        ticket.is_plain = False
        ticket.snapshots = {end.offset: producers.picture()}
        ticket.snapshot_offset = end.offset
        ticket.place_before = before
        if before.offset >= 0 and local.segments.get(before.offset) is None:
            ticket.old_snapshot = before.offset
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

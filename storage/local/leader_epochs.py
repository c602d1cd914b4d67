"""The leader epochs of a partition: which epoch began at which offset.

Invariants: epochs and start offsets both increase. The first entry may start after
offset 0, once retention has removed what came before.

The entries are in memory; a change makes them *dirty*, nothing is written by itself.
Who changes them sees to it that they are durable before anything that depends on them
is acknowledged: an epoch that began with an election, or with the first append, goes
out with the sync of that append. Either `flush` (waits for the disk), or, to write in
a disk thread: take `encode`, call `mark_flushed`, write the bytes to ``path`` with
`Files.write_atomic`. What a truncation leaves in the file too much is dropped again
when the log is loaded, so it may be flushed at leisure.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from odradek.storage.files.checkpoints import EPOCHS_NAME, read_epochs
from odradek.storage.files.files import Files
from odradek.storage.formats.checkpoint import EpochEntry, format_epochs

NO_EPOCH: Final = -1
NO_OFFSET: Final = -1


class EpochEndOffset(NamedTuple):
    """An epoch, and the offset behind its last record. Both -1: not known."""

    epoch: int
    end_offset: int


UNDEFINED: Final = EpochEndOffset(NO_EPOCH, NO_OFFSET)


class LeaderEpochs:
    """Epochs with their start offsets, and the file that keeps them."""

    __slots__ = (
        "_entries",
        "_files",
        "is_dirty",
        "latest_epoch",
        "path",
    )

    def __init__(
        self, files: Files, path: Path, entries: Sequence[EpochEntry] = ()
    ) -> None:
        self.path = path
        self.is_dirty = False
        self._files = files
        self._entries: list[EpochEntry] = []
        self.latest_epoch = NO_EPOCH  # of the last entry; every append asks for it
        for entry in entries:
            self._put(entry)

    @classmethod
    def load(cls, files: Files, directory: Path) -> "LeaderEpochs":
        """The epochs of the partition in ``directory``; none when there is no file.

        Raises:
            CheckpointError: the file cannot be read; the message names the line.
        """
        return cls(files, directory / EPOCHS_NAME, read_epochs(files, directory))

    @property
    def entries(self) -> Sequence[EpochEntry]:
        """All entries, oldest first."""
        return tuple(self._entries)

    @property
    def earliest(self) -> EpochEntry | None:
        """The oldest entry."""
        return self._entries[0] if self._entries else None

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Let ``epoch`` begin at ``start_offset``. Returns whether that is new.

        Entries that contradict it go. An epoch that is the latest already keeps its
        start, unless the new one is lower.
        """
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"epoch {epoch} cannot start at offset {start_offset}")
        if self._entries:
            latest = self._entries[-1]
            if epoch == latest.epoch and start_offset >= latest.start_offset:
                return False
        self._put(EpochEntry(epoch, start_offset))
        self.is_dirty = True
        return True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEndOffset:
        """Where ``epoch`` ends, or the newest epoch below it that is in the log."""
        if epoch < 0 or not self._entries or epoch > self.latest_epoch:
            return UNDEFINED
        if epoch == self.latest_epoch:
            return EpochEndOffset(epoch, log_end_offset)
        floor = NO_EPOCH
        for entry in self._entries:
            if entry.epoch > epoch:
                found = epoch if floor == NO_EPOCH else floor
                return EpochEndOffset(found, entry.start_offset)
            floor = entry.epoch
        raise AssertionError(self._entries)

    def epoch_for_offset(self, offset: int) -> int:
        """The epoch in which ``offset`` was written; -1 when it is not known."""
        found = NO_EPOCH
        for entry in self._entries:
            if entry.start_offset > offset:
                break
            found = entry.epoch
        return found

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget the epochs that begin at or above ``end_offset``."""
        while self._entries and self._entries[-1].start_offset >= end_offset:
            self._entries.pop()
            self.is_dirty = True
        self.latest_epoch = self._entries[-1].epoch if self._entries else NO_EPOCH

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget what lies below ``start_offset``, at which its epoch then begins."""
        covering = None
        while self._entries and self._entries[0].start_offset <= start_offset:
            covering = self._entries.pop(0)
        if covering is not None:
            moved = EpochEntry(covering.epoch, start_offset)
            self._entries.insert(0, moved)
            self.is_dirty = self.is_dirty or moved != covering

    def clear(self) -> None:
        """Forget all epochs."""
        self.is_dirty = self.is_dirty or bool(self._entries)
        self._entries.clear()
        self.latest_epoch = NO_EPOCH

    def encode(self) -> bytes:
        """The text of the file."""
        return format_epochs(self._entries).encode()

    def mark_flushed(self) -> None:
        """Say that `encode` was taken and will be written."""
        self.is_dirty = False

    def flush(self) -> None:
        """Write the file, durably, if it is out of date.

        Raises:
            DiskFull, StorageFailure: the entries stay dirty.
        """
        if self.is_dirty:
            self._files.write_atomic(self.path, self.encode())
            self.is_dirty = False

    def moved(self, directory: Path) -> None:
        """The partition's directory has another name now."""
        self.path = directory / EPOCHS_NAME

    def _put(self, entry: EpochEntry) -> None:
        while self._entries and (
            self._entries[-1].epoch >= entry.epoch
            or self._entries[-1].start_offset >= entry.start_offset
        ):
            self._entries.pop()
        self._entries.append(entry)
        self.latest_epoch = entry.epoch

"""The transaction index of a segment: the aborted transactions whose marker is in it.

A committed reader needs them to leave out what was aborted. The log does not tell it:
the marker comes after the records, maybe in a later segment. Committed transactions
have no entry, so most segments have no file at all.

An entry keeps the last stable offset as it was when the marker was written. Every
transaction that began below it had ended by then, so a search for what concerns a
range of offsets can stop at the first entry whose last stable offset is behind it.

Invariants: ``last_offset`` increases from entry to entry and is not below the base
offset of the segment. A marker comes after the first record of its transaction, and
the last stable offset is never behind the marker.
"""

from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path

from odradek.storage.files.files import File, Files
from odradek.storage.formats.transaction_entry import (
    TRANSACTION_ENTRY_SIZE,
    TransactionEntry,
    pack_transaction_entry,
    parse_transaction_index,
)
from odradek.storage.values.log_read import AbortedTransaction

from .mapped_index import CorruptIndex

_last_offset = attrgetter("last_offset")


class TransactionIndex:
    """One ``.txnindex``. It is read when first needed, and made by its first entry."""

    __slots__ = (
        "_entries",
        "_files",
        "base_offset",
        "file",
        "path",
    )

    def __init__(self, files: Files, path: Path, base_offset: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self._files = files
        self.file: File | None = None
        self._entries: list[TransactionEntry] | None = None

    def append(self, entry: TransactionEntry) -> bool:
        """Write an entry; it is not synced. Returns whether it is the file's first.

        Then the file may be new, and its name is to be synced too.

        Raises:
            ValueError: its marker is not behind that of the entry before.
            CorruptIndex: the file that is there cannot be believed.
            DiskFull, StorageFailure: nothing was written.
        """
        entries = self._loaded()
        _check_entry(
            entry, entries[-1].last_offset if entries else self.base_offset - 1
        )
        if self.file is None:
            self.file = self._files.open(self.path, create=True)
        is_first = self.file.size == 0
        self.file.append(pack_transaction_entry(entry))
        entries.append(entry)
        return is_first

    def entries(self) -> Sequence[TransactionEntry]:
        """The aborted transactions, in the order of their markers.

        Raises:
            CorruptIndex: the file cannot be believed.
        """
        return self._loaded()

    def search(
        self, fetch_offset: int, upper_bound: int
    ) -> tuple[list[AbortedTransaction], bool]:
        """The transactions with records from ``fetch_offset`` up to ``upper_bound``.

        They are those that had not ended below ``fetch_offset`` and had begun below
        ``upper_bound``. The second value says whether that is all: if not, others may
        be in the segments that follow, where their markers are.

        Raises:
            CorruptIndex: the file cannot be believed.
        """
        found: list[AbortedTransaction] = []
        entries = self._loaded()
        if not entries:
            return found, False
        first = bisect_left(entries, fetch_offset, key=_last_offset)
        for entry in entries[first:]:
            if entry.first_offset < upper_bound:
                found.append(AbortedTransaction(entry.producer_id, entry.first_offset))
            if entry.last_stable_offset >= upper_bound:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Drop the transactions whose marker is at ``offset`` or behind.

        Raises:
            CorruptIndex: the file cannot be believed.
        """
        entries = self._loaded()
        count = bisect_left(entries, offset, key=_last_offset)
        if count < len(entries):
            self._opened().truncate(count * TRANSACTION_ENTRY_SIZE)
            del entries[count:]

    def seal(self) -> None:
        """Its segment is sealed: an entry that comes all the same is a repair."""
        if self.file is not None:
            self.file.trim()

    def clear(self) -> None:
        """Drop all entries, whatever the file holds, to write them anew."""
        if self.file is not None or self._files.exists(self.path):
            file = self._opened()
            if file.size:
                file.truncate(0)
        self._entries = []

    def remove(self) -> None:
        """Drop all entries and the file; the next entry makes another one."""
        self.close()
        self.file = None
        self._files.unlink(self.path)
        self._entries = []

    def rewrite(self) -> None:
        """Write what the file holds once more, so that the next sync means it.

        For what a process before this one has written and not synced.
        """
        if self._loaded():
            self._opened().rewrite(0)

    def check(self) -> None:
        """Read the file, unless that was done.

        Raises:
            CorruptIndex: it cannot be believed.
        """
        self._loaded()

    def dirty_file(self) -> File | None:
        """The file, when it holds bytes that are not synced."""
        file = self.file
        return file if file is not None and file.is_dirty else None

    def close(self) -> None:
        """Let go of the file; the index can be asked again."""
        if self.file is not None:
            self.file.close()

    def moved(self, path: Path) -> None:
        """The file has another name now."""
        self.path = path
        if self.file is not None:
            self.file.path = path

    def _loaded(self) -> list[TransactionEntry]:
        if self._entries is None:
            self._entries = self._load() if self._files.exists(self.path) else []
        return self._entries

    def _load(self) -> list[TransactionEntry]:
        file = self._opened()
        try:
            entries = parse_transaction_index(file.read_at(0, file.size))
            last_offset = self.base_offset - 1
            for entry in entries:
                _check_entry(entry, last_offset)
                last_offset = entry.last_offset
        except ValueError as error:
            raise CorruptIndex(f"{self.path}: {error}") from error
        return entries

    def _opened(self) -> File:
        if self.file is None:
            self.file = self._files.open(self.path)
        return self.file


def _check_entry(entry: TransactionEntry, last_offset_before: int) -> None:
    if entry.last_offset <= last_offset_before:
        raise ValueError(f"{entry} does not follow offset {last_offset_before}")
    if not 0 <= entry.first_offset < entry.last_offset or entry.producer_id < 0:
        raise ValueError(f"{entry} is not a transaction")
    if not 0 <= entry.last_stable_offset <= entry.last_offset + 1:
        raise ValueError(f"{entry} has an impossible last stable offset")

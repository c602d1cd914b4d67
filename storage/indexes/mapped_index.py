"""What the two indexes of a segment share: sorted entries of one size in a file.

An index is in one of two states. *Growing*, in the active segment: the entries are
in memory, and `flush` appends the new ones to the file, which is not preallocated.
*Sealed*: the file is mapped when the index is first asked.

An index says nothing that the log does not: when its file is missing or makes no
sense, `CorruptIndex` is raised and the segment writes it again from the log.
"""

from abc import ABC, abstractmethod
from pathlib import Path

from odradek.storage.files.files import Buffer, File, Files
from odradek.storage.formats.index_entry import used_size


class CorruptIndex(Exception):
    """An index file that is missing or contradicts itself, or the log."""


class MappedIndex(ABC):
    """Entries of ``entry_size`` bytes, at most ``max_size`` bytes of them.

    ``count`` is known once the index was asked for something.
    """

    entry_size: int

    def __init__(self, files: Files, path: Path, base_offset: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self.count = 0
        self._files = files
        self.file: File | None = None
        self._is_checked = False
        self._growing: bytearray | None = None
        self._flushed_size = 0

    @property
    def size(self) -> int:
        """The bytes of the entries."""
        return self.count * self.entry_size

    @property
    def is_growing(self) -> bool:
        """Whether entries can be appended."""
        return self._growing is not None

    @property
    def has_new_entries(self) -> bool:
        """Whether there are entries that are not in the file."""
        growing = self._growing
        return growing is not None and self._flushed_size < len(growing)

    def start(self) -> None:
        """Begin an empty, growing index; what a file of its name holds is dropped."""
        if self.file is not None or self._files.exists(self.path):
            self._opened(create=True).truncate(0)
        self._growing = bytearray()
        self._flushed_size = 0
        self.count = 0
        self._is_checked = True
        self._note_last()

    def grow(self) -> None:
        """Read a sealed index into memory, so that entries can follow.

        Raises:
            CorruptIndex: it cannot be believed.
        """
        if self._growing is not None:
            return
        entries = bytearray(self.entries()[: self.size])
        file = self._opened()
        if file.size != len(entries):
            file.truncate(len(entries))
        self._growing = entries
        self._flushed_size = len(entries)
        self._note_last()

    def flush(self) -> None:
        """Append what is new to the file; it exists afterwards, if empty."""
        if self._growing is None:
            return
        file = self._opened(create=True)
        if self._flushed_size < len(self._growing):
            with memoryview(self._growing) as entries:
                file.append(entries[self._flushed_size :])
            self._flushed_size = len(self._growing)

    def seal(self) -> None:
        """Write what is new and let go of the memory."""
        self.flush()
        self._growing = None
        if self.file is not None:
            self.file.trim()

    def dirty_file(self) -> File | None:
        """The file, when it holds bytes that are not synced."""
        file = self.file
        return file if file is not None and file.is_dirty else None

    def close(self) -> None:
        """Let go of file and memory; the index can be asked again."""
        self.seal()
        if self.file is not None:
            self.file.close()

    def let_go(self) -> None:
        """Of file and memory, and of what is not written yet: it is to be removed."""
        self._growing = None
        if self.file is not None:
            self.file.close()

    def moved(self, path: Path) -> None:
        """The file has another name now."""
        self.path = path
        if self.file is not None:
            self.file.path = path

    def entries(self) -> Buffer:
        """The bytes of the entries, with zeros behind them in a preallocated file.

        Raises:
            CorruptIndex: they cannot be believed.
        """
        if self._growing is not None:
            return self._growing
        try:
            file = self._opened()
        except FileNotFoundError:
            raise CorruptIndex(f"{self.path} is missing") from None
        entries = file.map()
        if not self._is_checked:
            if file.size % self.entry_size:
                raise CorruptIndex(f"{self.path} has half an entry at its end")
            used = used_size(entries, self.entry_size)
            self._check(entries[:used])
            self.count = used // self.entry_size
            self._is_checked = True
        return entries

    @abstractmethod
    def _check(self, entries: memoryview) -> None:
        """Raise `CorruptIndex` when the entries contradict each other."""

    @abstractmethod
    def _note_last(self) -> None:
        """Keep what the next entry of a growing index is compared with."""

    def _append(self, entry: bytes) -> None:
        assert self._growing is not None, f"{self.path} is sealed"
        self._growing += entry
        self.count += 1

    def _keep(self, count: int) -> None:
        """Drop all but the first ``count`` entries of a growing index."""
        assert self._growing is not None, f"{self.path} is sealed"
        size = count * self.entry_size
        del self._growing[size:]
        self.count = count
        if self._flushed_size > size:
            self._opened().truncate(size)
            self._flushed_size = size
        self._note_last()

    def _opened(self, create: bool = False) -> File:
        if self.file is None:
            self.file = self._files.open(self.path, create=create)
        return self.file

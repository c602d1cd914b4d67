"""The seam between storage and the system: all that storage asks of files.

`Files` and `File` are what storage is written against; `OsFiles` is the real one
(import all of them from ``files``), tests put a file system in memory in its place.

Failures are told apart by what they mean for the log directory. `DiskFull` leaves
everything as it was before and may pass. `StorageFailure` is final: a failed sync,
or an I/O error, after which the contents of the file are not known. A file that is
not there is the caller's business: `FileNotFoundError` passes through.
"""

import errno
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Final, NamedTuple

from odradek.protocol.errors import KafkaStorageError
from odradek.protocol.primitives import Buffer as Buffer

from .tail_memory import TailMemory

# That a file is not there: it was removed, or a directory above it.
MISSING: Final = (FileNotFoundError, NotADirectoryError)


class StorageFailure(KafkaStorageError):
    """A sync failed, or the device did: the directory takes no more writes."""


class DiskFull(KafkaStorageError):
    """No space or quota left. Nothing was changed; the same call may work later."""


class ColdBytes(NamedTuple):
    """Bytes of a file that are not in the page cache."""

    file: "File"
    position: int
    size: int

    def warm(self) -> None:
        """Bring the bytes into the page cache. For a disk thread: it waits.

        A failure is left for the read that follows to meet.
        """
        self.file.warm(self.position, self.size)


class ColdRead(Exception):
    """A read that must not wait met bytes that are not in the page cache.

    Whoever goes on later keeps ``bytes`` and lets go of the error: with its traceback
    that holds what was read until then, and in a local of a frame it holds itself.
    """

    def __init__(self, file: "File", position: int, size: int) -> None:
        super().__init__(f"{file.path}: {size} bytes at {position} are not cached")
        self.file, self.position, self.size = file, position, size

    @property
    def bytes(self) -> ColdBytes:
        """What has to be warmed."""
        return ColdBytes(self.file, self.position, self.size)

    def warm(self) -> None:
        """`ColdBytes.warm`, by one who does not go on later."""
        self.bytes.warm()


def failure(path: Path, error: OSError) -> KafkaStorageError:
    """What an error of the system means to the log directory."""
    message = f"{path}: {error.strerror or error}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(message)
    if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
        return KafkaStorageError(message)  # passes; nothing is broken
    return StorageFailure(message)


class File(ABC):
    """One file that is read anywhere and written at its end.

    ``path`` follows a rename only when the caller sets it. ``is_dirty`` says that
    bytes were written since the last sync began; who syncs the whole file system
    instead clears it before that begins.
    """

    path: Path
    size: int
    is_dirty: bool

    @abstractmethod
    def append(self, data: Buffer) -> None:
        """Write all of ``data`` (of single bytes) at the end, or nothing.

        Who finds a file with other names, or comes back to one that was trimmed, gets
        a copy of its own first; one that is being appended to may be given names.

        Raises:
            DiskFull: no space; the file is as it was.
            StorageFailure: any other error of the device.
        """

    @abstractmethod
    def read_at(self, position: int, size: int, may_block: bool = True) -> memoryview:
        """The bytes from ``position`` on, fewer at the end of the file.

        Raises:
            ColdRead: not all of them are cached and ``may_block`` is False.
            StorageFailure: the device failed.
        """

    @abstractmethod
    def warm(self, position: int, size: int) -> None:
        """Read a range into the page cache; changes nothing, for a disk thread."""

    @abstractmethod
    def map(self) -> memoryview:
        """The whole content, mapped while it is used. For files that grow no more."""

    @abstractmethod
    def rewrite(self, position: int) -> None:
        """Write what the file holds from ``position`` on once more.

        In a copy of its own, if it has other names.
        After a failed sync the kernel may hold pages that it calls clean and that
        are not on disk. Written again they are dirty, and the next sync means it.
        """

    @abstractmethod
    def overwrite(self, position: int, data: Buffer) -> None:
        """Write ``data`` over bytes that are there.

        Raises:
            DiskFull: no space, on a file system that writes elsewhere.
            StorageFailure: any other error of the device.
        """

    @abstractmethod
    def truncate(self, size: int) -> None:
        """Cut the file to ``size`` bytes."""

    @abstractmethod
    def preallocate(self, limit: int) -> None:
        """From now on let appends write zeros ahead, up to ``limit``; 0: no more.

        They are behind ``size``, which stays the end of what was appended. Where there
        is no room for them, or no use, there are none.
        """

    @abstractmethod
    def trim(self) -> None:
        """Cut what was written ahead, and write no more of it: it is done with."""

    @abstractmethod
    def sync(self) -> None:
        """Make the content durable. Raises `StorageFailure`, never to be retried."""

    @abstractmethod
    def close(self) -> None:
        """Let the descriptor go. The file opens again when it is next used."""

    @abstractmethod
    def lease(self) -> object:
        """Something that keeps the open file alive for as long as it is held.

        Take it before the file may be unlinked and a disk thread still needs it.
        """


class Files(ABC):
    """A file system: opens files and changes directories.

    ``tails`` is the memory in which the logs here keep what was appended last; none,
    unless somebody gives them some.
    """

    tails = TailMemory(0)

    @abstractmethod
    def open(self, path: Path, *, create: bool = False) -> File:
        """The file at ``path``; with ``create`` it is made when it is not there."""

    @abstractmethod
    def exists(self, path: Path) -> bool:
        """Whether there is a file or directory at ``path``."""

    @abstractmethod
    def size(self, path: Path) -> int:
        """The bytes in the file at ``path``."""

    @abstractmethod
    def modified_ms(self, path: Path) -> int:
        """When the file was last written to, in ms since 1970."""

    @abstractmethod
    def listdir(self, path: Path) -> list[str]:
        """The names in a directory, sorted."""

    @abstractmethod
    def mkdir(self, path: Path) -> None:
        """Make a directory and those above it; one that is there is fine."""

    @abstractmethod
    def rename(self, source: Path, target: Path) -> None:
        """Rename a file or directory, replacing a file that has the name."""

    @abstractmethod
    def link(self, source: Path, target: Path) -> bool:
        """Give a file a second name, for a backup: both are the same bytes.

        Who appends to it goes on with both; all that else changes a `File` changes the
        one that has the name by which it was opened, and no other. False where the
        file system has no links, or ``target`` is on another one.
        """

    def share(self, source: Path, target: Path) -> bool:
        """Give ``target`` the bytes of a file that is sealed, and copy none of them.

        They are one file under two names, or two files where the file system can let
        them share bytes. False where it knows neither.
        """
        return self.link(source, target)

    @abstractmethod
    def unlink(self, path: Path) -> None:
        """Remove a file; one that is not there is fine."""

    @abstractmethod
    def rmtree(self, path: Path) -> None:
        """Remove a directory with all that is in it; a missing one is fine."""

    @abstractmethod
    def sync_directory(self, path: Path) -> None:
        """Make the names in a directory durable."""

    @abstractmethod
    def read_bytes(self, path: Path) -> bytes:
        """The whole content of a small file."""

    def write_atomic(self, path: Path, data: Buffer) -> None:
        """Replace a file's content durably: after a crash it is the old or the new.

        Written beside it as ``.tmp``, synced, renamed, and the directory synced.
        """
        temporary = path.with_name(path.name + ".tmp")
        self.unlink(temporary)
        file = self.open(temporary, create=True)
        try:
            file.append(data)
        except KafkaStorageError:
            self.unlink(temporary)
            raise
        finally:
            file.close()
        file.sync()
        file.close()
        self.rename(temporary, path)
        self.sync_directory(path.parent)

"""The files of the operating system for who only looks: opened for reading, or not.

For inspecting a directory that may be damaged, belong to a running broker, or lie on
a file system that is mounted read-only. Whatever would change something raises.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from .file_system import Buffer, File, Files, failure


class ReadOnly(AssertionError):
    """Something was about to be changed: a bug."""


class ReadOnlyFile(File):
    """A file that is opened when it is first read.

    ``size`` is what it was then: what a running broker appends later is not looked
    at. Nothing is mapped, as a mapping dies when its file is cut.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = -1
        self.path = path
        self.is_dirty = False
        self.size = path.stat().st_size

    def read_at(self, position: int, size: int, may_block: bool = True) -> memoryview:
        """``pread`` until there is no more."""
        parts: list[bytes] = []
        try:
            descriptor = self.lease()
            size = min(size, self.size - position)
            while size > 0 and (data := os.pread(descriptor, size, position)):
                parts.append(data)
                position, size = position + len(data), size - len(data)
        except OSError as error:
            raise failure(self.path, error) from error
        return memoryview(parts[0] if len(parts) == 1 else b"".join(parts))

    def map(self) -> memoryview:
        """The content, read."""
        return self.read_at(0, self.size)

    def lease(self) -> int:
        """The descriptor."""
        if self._descriptor < 0:
            self._descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        return self._descriptor

    def close(self) -> None:
        """At once."""
        # Forgotten first: an error of ``close`` does not leave it open.
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        with suppress(OSError):
            self.close()

    def warm(self, position: int, size: int) -> None:
        """Nothing to do: every read waits."""

    def append(self, data: Buffer) -> NoReturn:
        """Refused."""
        raise ReadOnly(self.path)

    def rewrite(self, position: int) -> NoReturn:
        """Refused."""
        raise ReadOnly(self.path)

    def overwrite(self, position: int, data: Buffer) -> NoReturn:
        """Refused."""
        raise ReadOnly(self.path)

    def truncate(self, size: int) -> NoReturn:
        """Refused."""
        raise ReadOnly(self.path)

    def preallocate(self, limit: int) -> NoReturn:
        """Refused."""
        raise ReadOnly(self.path)

    def trim(self) -> None:
        """Nothing to do: nothing was written ahead."""

    def sync(self) -> NoReturn:
        """Refused."""
        raise ReadOnly(self.path)


class ReadOnlyFiles(Files):
    """Opens files, and changes nothing."""

    def open(self, path: Path, *, create: bool = False) -> File:
        """Opened when it is first read."""
        if create:
            raise ReadOnly(path)
        return ReadOnlyFile(path)

    def exists(self, path: Path) -> bool:
        """``stat``."""
        return path.exists()

    def size(self, path: Path) -> int:
        """``stat``."""
        return path.stat().st_size

    def modified_ms(self, path: Path) -> int:
        """``stat``."""
        return path.stat().st_mtime_ns // 1_000_000

    def listdir(self, path: Path) -> list[str]:
        """``listdir``, sorted."""
        try:
            return sorted(os.listdir(path))
        except (FileNotFoundError, NotADirectoryError):
            raise
        except OSError as error:
            raise failure(path, error) from error

    def read_bytes(self, path: Path) -> bytes:
        """``open`` and ``read``."""
        try:
            return path.read_bytes()
        except FileNotFoundError:
            raise
        except OSError as error:
            raise failure(path, error) from error

    def mkdir(self, path: Path) -> NoReturn:
        """Refused."""
        raise ReadOnly(path)

    def rename(self, source: Path, target: Path) -> NoReturn:
        """Refused."""
        raise ReadOnly(source)

    def link(self, source: Path, target: Path) -> NoReturn:
        """Refused."""
        raise ReadOnly(target)

    def unlink(self, path: Path) -> NoReturn:
        """Refused."""
        raise ReadOnly(path)

    def rmtree(self, path: Path) -> NoReturn:
        """Refused."""
        raise ReadOnly(path)

    def sync_directory(self, path: Path) -> NoReturn:
        """Refused."""
        raise ReadOnly(path)

    def write_atomic(self, path: Path, data: Buffer) -> NoReturn:
        """Refused."""
        raise ReadOnly(path)

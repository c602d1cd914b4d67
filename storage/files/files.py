"""The files of the operating system: every system call of storage is here.

Descriptors are opened when first used and limited in number. Whoever reads, writes
or syncs holds the descriptor itself for as long as the call takes, and the last
holder closes it. So the loop may evict, close or delete a file while a disk thread
syncs it: no number is ever closed under a running call and given to another file.
"""

import errno
import mmap
import os
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from .descriptor import Descriptor
from .file_system import (
    MISSING,
    Buffer,
    ColdBytes,
    ColdRead,
    DiskFull,
    File,
    Files,
    StorageFailure,
    failure,
)
from .preallocation import ALWAYS, NEVER, zeros_behind
from .system_calls import (
    clone,
    full_sync,
    link,
    own_copy,
    sync_directory,
    translated,
    warm,
)

__all__ = [
    "MISSING",
    "Buffer",
    "ColdBytes",
    "ColdRead",
    "DiskFull",
    "File",
    "Files",
    "OsFile",
    "OsFiles",
    "StorageFailure",
    "failure",
]

_NO_WAIT: int = getattr(os, "RWF_NOWAIT", 0)
_NO_SUCH_READ = frozenset({errno.EOPNOTSUPP, errno.ENOSYS})
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_CHUNK_SIZE = 1 << 20
_EVICTION_TRIES = 64


class OsFile(File):
    """A file of the operating system."""

    def __init__(self, files: "OsFiles", path: Path, size: int) -> None:
        self.path = path
        self.size = size
        self.is_dirty = False
        self.was_used = True  # since the eviction looked at it last
        self.allocated = size  # where the file ends: behind ``size`` there are zeros
        self._is_own = True  # False: the next append sees to it that it is
        self._zeros_from = NEVER  # an append that ends behind it has more to do
        self._zeros_limit = 0
        self._files = files
        self._descriptor: Descriptor | None = None
        self._mapping: memoryview | None = None

    def append(self, data: Buffer) -> None:
        """One ``pwrite``; a failed or short one is cut back or completed."""
        descriptor = self._descriptor or self.lease()
        size = self.size
        end = size + len(data)
        try:
            if end > self._zeros_from:
                written = self._write_ahead(data)
                descriptor = self.lease()
            else:
                written = os.pwrite(descriptor.number, data, size)
            while size + written < end:
                rest = memoryview(data)[written:]
                written += os.pwrite(descriptor.number, rest, size + written)
        except OSError as error:
            self._cut_back(descriptor, error)
        self.size = end
        self.is_dirty = True
        self.was_used = True

    def _write_ahead(self, data: Buffer) -> int:
        """Write it to a file of its own, with zeros behind. Returns how much of it."""
        size, count = self.size, len(data)
        with translated(self.path):
            descriptor = self.lease() if self._is_own else self._own(size)
        zeros = zeros_behind(size, count, self._zeros_limit)
        try:
            written = os.pwritev(descriptor.number, [data, zeros], size)
        except OSError as error:
            if not len(zeros) or error.errno not in _NO_ROOM:
                raise
            self._zeros_from = NEVER  # the data may still have room
            return os.pwrite(descriptor.number, data, size)
        self.allocated = size + max(written, count)
        self._zeros_from = self.allocated if self._zeros_limit else NEVER
        return min(written, count)

    def preallocate(self, limit: int) -> None:
        """With one ``pwritev`` for batch and zeros."""
        self._zeros_limit = limit
        self.allocated = max(self.allocated, self.size)
        if self._is_own:
            self._zeros_from = self.allocated if self.size < limit else NEVER

    def trim(self) -> None:
        """``ftruncate``, if there are zeros."""
        self._is_own, self._zeros_from, self._zeros_limit = False, ALWAYS, 0
        if self.allocated > self.size:
            self._cut(self.lease(), self.size)  # nobody else knows of the zeros

    def _cut_back(self, descriptor: Descriptor, error: OSError) -> NoReturn:
        try:
            os.ftruncate(descriptor.number, self.size)
        except OSError as second:
            raise StorageFailure(f"{self.path}: cannot cut a failed write") from second
        self._cut_to(self.size)
        raise failure(self.path, error) from error

    def read_at(self, position: int, size: int, may_block: bool = True) -> memoryview:
        """``preadv`` with RWF_NOWAIT where the system knows it."""
        descriptor = self._descriptor or self.lease()
        self.was_used = True
        size = min(size, self.size - position)
        if size <= 0:
            return memoryview(b"")
        try:
            if may_block or not self._files.can_refuse_to_wait:
                return self._read_waiting(descriptor, position, size)
            data = bytearray(size)
            count = os.preadv(descriptor.number, [data], position, _NO_WAIT)
        except BlockingIOError:
            raise ColdRead(self, position, size) from None
        except OSError as error:
            if may_block or error.errno not in _NO_SUCH_READ:
                raise failure(self.path, error) from error
            self._files.can_refuse_to_wait = False
            return self.read_at(position, size)
        if count < size:
            raise ColdRead(self, position + count, size - count)
        return memoryview(data)

    def _read_waiting(self, held: Descriptor, position: int, size: int) -> memoryview:
        data = os.pread(held.number, size, position)
        if len(data) == size:
            return memoryview(data)
        parts = [data]
        while data and (size := size - len(data)):
            position += len(data)
            data = os.pread(held.number, size, position)
            parts.append(data)
        return memoryview(b"".join(parts))

    def warm(self, position: int, size: int) -> None:
        """Through a descriptor of its own: this runs beside the loop."""
        warm(self.path, position, size)

    def map(self) -> memoryview:
        """Mapped until the file is evicted; the views given out keep it alive."""
        self.was_used = True
        mapping = self._mapping
        if mapping is None or len(mapping) != self.size:
            mapping = self._mapping = self._mapped()
        return mapping

    def _mapped(self) -> memoryview:
        if not self.size:
            return memoryview(b"")
        try:
            held = self.lease()
            content = mmap.mmap(held.number, self.size, prot=mmap.PROT_READ)
        except OSError as error:
            raise failure(self.path, error) from error
        if not self.is_dirty:
            self._descriptor = None  # the mapping holds one of its own
        return memoryview(content)

    def rewrite(self, position: int) -> None:
        """Chunk by chunk, in place."""
        try:
            held = self._own(self.size)
            while position < self.size:
                data = os.pread(held.number, _CHUNK_SIZE, position)
                position += os.pwrite(held.number, data, position)
        except OSError as error:
            raise StorageFailure(f"{self.path}: cannot write again") from error
        self.is_dirty = True

    def overwrite(self, position: int, data: Buffer) -> None:
        """One ``pwrite``."""
        assert position + len(data) <= self.size, position
        try:
            held = self._own(self.size)
            os.pwrite(held.number, data, position)
        except OSError as error:
            raise failure(self.path, error) from error
        self.is_dirty = True

    def truncate(self, size: int) -> None:
        """``ftruncate``."""
        try:
            held = self._own(min(size, self.size))
        except OSError as error:
            raise failure(self.path, error) from error
        self._cut(held, size)

    def _own(self, size: int) -> Descriptor:
        """A descriptor whose file has no other name; of its bytes ``size`` are kept."""
        held = self._descriptor = own_copy(self.path, self.lease(), size)
        self._mapping = None
        if not self._is_own:
            self._is_own = True
            self.preallocate(self._zeros_limit)
        return held

    def _cut(self, held: Descriptor, size: int) -> None:
        try:
            os.ftruncate(held.number, size)
        except OSError as error:
            raise StorageFailure(f"{self.path}: cannot truncate") from error
        self._cut_to(size)
        self.is_dirty = True

    def _cut_to(self, size: int) -> None:
        self.size = self.allocated = size
        if self._is_own and self._zeros_from != NEVER:
            self._zeros_from = size

    def sync(self) -> None:
        """``fdatasync``, which also writes a changed size; F_FULLFSYNC on macOS."""
        descriptor = self._descriptor or self.lease()
        # Before the call: what is appended while it runs is dirty afterwards.
        self.is_dirty = False
        try:
            full_sync(descriptor.number)
        except OSError as error:
            raise self.sync_failure(error) from error

    def sync_failure(self, error: OSError) -> StorageFailure:
        """What to raise when a sync has failed, whoever did it."""
        why = error.strerror or error
        return StorageFailure(f"sync of {self.path} failed, its tail is unknown: {why}")

    def close(self) -> None:
        """At once, except for running calls and leases, which keep what they hold."""
        self._descriptor = None
        self._mapping = None
        self._files.forget(self)

    def lease(self, create: bool = False) -> Descriptor:
        """The open descriptor, opened when it is not."""
        self.was_used = True
        held = self._descriptor
        if held is None:
            held = Descriptor(self._files.open_descriptor(self, create))
            self._descriptor = held
        return held

    @property
    def is_open(self) -> bool:
        """Whether it holds a descriptor, its own or that of its mapping."""
        return self._descriptor is not None or self._mapping is not None


class OsFiles(Files):
    """The operating system's files, with at most about ``max_open_files`` open.

    A file that was used since the last look, or that has unsynced bytes, is passed
    over: closing it could lose the error of its write-back. If there are only such
    files, the limit gives way.
    """

    def __init__(self, max_open_files: int = 4096) -> None:
        self.max_open_files = max_open_files
        self.can_refuse_to_wait = _NO_WAIT != 0
        self._can_clone = True
        # Its calls are atomic: threads make them at once.
        self._opened: OrderedDict[OsFile, None] = OrderedDict()

    def open(self, path: Path, *, create: bool = False) -> File:
        """Without ``create``, the descriptor is opened when it is first needed."""
        file = self.file(path, 0)
        with translated(path):
            held = file.lease(True) if create else None
            found = path.stat() if held is None else os.fstat(held.number)
        file.size = file.allocated = found.st_size
        if found.st_nlink > 1:
            file.trim()
        return file

    def file(self, path: Path, size: int) -> OsFile:
        """What ``open`` gives; its descriptor is not open yet."""
        return OsFile(self, path, size)

    def open_descriptor(self, file: OsFile, create: bool) -> int:
        """A new descriptor for ``file``; another file may lose its own for it."""
        self._make_room()
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        with translated(file.path):
            number = os.open(file.path, flags, 0o644)
        self._opened[file] = None
        return number

    def forget(self, file: OsFile) -> None:
        """Count a file as open no more."""
        self._opened.pop(file, None)

    def _make_room(self) -> None:
        for _ in range(_EVICTION_TRIES):
            if len(self._opened) < self.max_open_files:
                return
            file, _ = self._opened.popitem(last=False)
            if file.is_open and (file.was_used or file.is_dirty):
                file.was_used = False
                self._opened[file] = None
            else:
                file.close()

    def exists(self, path: Path) -> bool:
        """``stat``."""
        with translated(path):
            return path.exists()

    def size(self, path: Path) -> int:
        """``stat``."""
        with translated(path):
            return path.stat().st_size

    def modified_ms(self, path: Path) -> int:
        """``stat``."""
        with translated(path):
            return path.stat().st_mtime_ns // 1_000_000

    def listdir(self, path: Path) -> list[str]:
        """``listdir``, sorted."""
        with translated(path):
            return sorted(os.listdir(path))

    def mkdir(self, path: Path) -> None:
        """``mkdir -p``."""
        with translated(path):
            path.mkdir(parents=True, exist_ok=True)

    def rename(self, source: Path, target: Path) -> None:
        """``rename``."""
        with translated(source):
            source.replace(target)

    def link(self, source: Path, target: Path) -> bool:
        """``link``."""
        return link(source, target)

    def share(self, source: Path, target: Path) -> bool:
        """``FICLONE``, else ``link``."""
        self._can_clone = self._can_clone and clone(source, target)
        return self._can_clone or link(source, target)

    def unlink(self, path: Path) -> None:
        """``unlink``."""
        with translated(path):
            path.unlink(missing_ok=True)

    def rmtree(self, path: Path) -> None:
        """``rm -r``."""
        with translated(path), suppress(FileNotFoundError):
            from shutil import rmtree

            rmtree(path)

    def sync_directory(self, path: Path) -> None:
        """``fsync`` of the directory."""
        sync_directory(path)

    def read_bytes(self, path: Path) -> bytes:
        """``open`` and ``read``."""
        with translated(path):
            return path.read_bytes()

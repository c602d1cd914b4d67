"""A file system in memory that can lose power, fail any call and damage any file.

What is written is in the page cache; only `sync` makes it durable, and only
`sync_directory` makes a name durable. `power_cut` drops the rest, names included. A
killed process loses nothing: open the same `FakeFiles` again. After a sync that failed
the next one succeeds without the bytes, as on Linux, unless they are written again.
"""

import errno
import os
from collections import Counter
from pathlib import Path

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.file_system import failure
from odradek.storage.files.files import (
    Buffer,
    ColdRead,
    DiskFull,
    File,
    Files,
    StorageFailure,
)
from odradek.storage.files.preallocation import NEVER, zeros_behind
from odradek.storage.files.tail_memory import TailMemory

from .disk import Content, Directory, Fault, lose, walk


class FakeFiles(Files):
    """Directories and files in memory. ``counts`` says how often each call was made,
    ``failed`` which calls a test has let fail.

    The calls are named ``open append write_ahead read map truncate rewrite overwrite
    sync rename link unlink rmtree mkdir listdir sync_directory read_bytes``.
    """

    def __init__(self) -> None:
        self.tails = TailMemory(100_000)
        self.counts: Counter[str] = Counter()
        self.failed: list[tuple[str, Path]] = []
        self.now_ms = 0
        self._root = Directory()
        self._faults: list[Fault] = []

    def __getstate__(self) -> dict[str, object]:
        """A copy of the disk has nothing in memory."""
        return {**self.__dict__, "tails": TailMemory(100_000)}

    # What a test does to the disk.

    def power_cut(self) -> None:
        """Lose all that was not synced: bytes, truncations, names, renames."""
        lose(self._root)

    def fail(
        self, operation: str | None = None, *, nth: int = 1, error: int = errno.EIO
    ) -> None:
        """Make the ``nth`` call from now on fail, of one kind or of any."""
        self._faults.append(Fault(operation, nth, error))

    def heal(self) -> None:
        """Forget the failures that have not happened."""
        self._faults.clear()

    def chill(self, name: str) -> None:
        """Drop a file from the page cache: reads that must not wait fail."""
        self._find(name).is_cold = True
        kept = self.tails.size_max
        self.tails.resize(0)
        self.tails.resize(kept)

    def content(self, name: str | Path) -> bytes:
        """The bytes of a file, by its path or by a name that only one file has."""
        return bytes(self._find(name).data)

    def put(self, path: Path, data: bytes) -> None:
        """Write a durable file, with durable directories above it."""
        parent = self._root
        for part in path.parts[1:-1]:
            child = parent.names.setdefault(part, Directory())
            parent.durable[part] = child
            assert isinstance(child, Directory)
            parent = child
        content = Content(bytearray(data), data, self.now_ms)
        parent.names[path.name] = parent.durable[path.name] = content

    def copy_in(self, source: Path, target: Path) -> None:
        """Put a directory of the real file system, with what is in it, at a path."""
        for folder, _, names in os.walk(source):
            for name in names:
                path = Path(folder) / name
                self.put(target / path.relative_to(source), path.read_bytes())

    def cut(self, name: str | Path, *, by: int) -> None:
        """Take bytes off the end of a file, durably."""
        content = self._find(name)
        del content.data[len(content.data) - by :]
        content.durable = bytes(content.data)

    def extend(self, name: str | Path, data: bytes) -> None:
        """Put bytes at the end of a file, durably."""
        content = self._find(name)
        content.data += data
        content.durable = bytes(content.data)

    def flip(self, name: str | Path, position: int, bit: int = 0) -> None:
        """Turn one bit over, durably."""
        content = self._find(name)
        content.data[position] ^= 1 << bit
        content.durable = bytes(content.data)

    def paths(self) -> list[Path]:
        """Every file there is, sorted."""
        return sorted(walk(self._root, Path("/")))

    def _find(self, name: str | Path) -> Content:
        if Path(name).is_absolute():
            return self.file_at(Path(name))
        found = [path for path in self.paths() if path.name == str(name)]
        assert len(found) == 1, f"{name}: {found}"
        return self.file_at(found[0])

    # What `Files` promises.

    def open(self, path: Path, *, create: bool = False) -> File:
        self.called("open", path)
        parent = self._directory_at(path.parent)
        if create and path.name not in parent.names:
            parent.names[path.name] = Content(modified_ms=self.now_ms)
        return FakeFile(self, path, self.file_at(path))

    def exists(self, path: Path) -> bool:
        try:
            self._node_at(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def size(self, path: Path) -> int:
        return len(self.file_at(path).data)

    def modified_ms(self, path: Path) -> int:
        return self.file_at(path).modified_ms

    def listdir(self, path: Path) -> list[str]:
        self.called("listdir", path)
        return sorted(self._directory_at(path).names)

    def mkdir(self, path: Path) -> None:
        self.called("mkdir", path)
        parent = self._root
        for part in path.parts[1:]:
            child = parent.names.setdefault(part, Directory())
            if not isinstance(child, Directory):
                raise NotADirectoryError(path)
            parent = child

    def rename(self, source: Path, target: Path) -> None:
        self.called("rename", source)
        node = self._node_at(source)
        parent = self._directory_at(target.parent)
        del self._directory_at(source.parent).names[source.name]
        parent.names[target.name] = node

    def link(self, source: Path, target: Path) -> bool:
        self.called("link", source)
        content = self.file_at(source)
        if target.name in self._directory_at(target.parent).names:
            raise failure(target, OSError(errno.EEXIST, os.strerror(errno.EEXIST)))
        self._directory_at(target.parent).names[target.name] = content
        content.is_linked = True
        return True

    def _links(self, content: Content) -> int:
        return sum(self.file_at(each) is content for each in self.paths())

    def own(self, path: Path, content: Content) -> Content:
        """``content``, or a durable copy with its name if it has others."""
        if not content.is_linked or self._links(content) <= 1:
            return content
        copy = Content(bytearray(content.data), bytes(content.data), self.now_ms)
        directory = self._directory_at(path.parent)
        directory.names[path.name] = directory.durable[path.name] = copy
        return copy

    def unlink(self, path: Path) -> None:
        self.called("unlink", path)
        self._directory_at(path.parent).names.pop(path.name, None)

    def rmtree(self, path: Path) -> None:
        self.called("rmtree", path)
        if self.exists(path):
            del self._directory_at(path.parent).names[path.name]

    def sync_directory(self, path: Path) -> None:
        try:
            self.called("sync_directory", path)
        except KafkaStorageError as error:
            raise StorageFailure(str(error)) from error
        directory = self._directory_at(path)
        directory.durable = dict(directory.names)

    def read_bytes(self, path: Path) -> bytes:
        self.called("read_bytes", path)
        return bytes(self.file_at(path).data)

    def called(self, operation: str, path: Path) -> None:
        """Count a call, and fail it when that is its fate."""
        self.counts[operation] += 1
        due = None
        for fault in list(self._faults):
            if fault.operation in (None, operation):
                fault.countdown -= 1
                if not fault.countdown:
                    self._faults.remove(fault)
                    due = fault
        if due is not None:
            self.failed.append((operation, path))
            raise failure(path, OSError(due.error, os.strerror(due.error)))

    def file_at(self, path: Path) -> Content:
        node = self._node_at(path)
        if isinstance(node, Directory):
            raise StorageFailure(f"{path} is a directory")
        return node

    def _directory_at(self, path: Path) -> Directory:
        node = self._node_at(path)
        if not isinstance(node, Directory):
            raise NotADirectoryError(path)
        return node

    def _node_at(self, path: Path) -> Content | Directory:
        assert path.is_absolute(), path
        node: Content | Directory = self._root
        for part in path.parts[1:]:
            if not isinstance(node, Directory) or part not in node.names:
                raise FileNotFoundError(path)
            node = node.names[part]
        return node


class FakeFile(File):
    """A file that stays usable when it is unlinked, until it is closed."""

    def __init__(self, files: FakeFiles, path: Path, content: Content) -> None:
        self.path = path
        self.size = len(content.data)
        self.is_dirty = False
        self._files = files
        self._allocated = self.size
        self._zeros_from, self._zeros_limit = NEVER, 0
        self._content: Content | None = content
        self._is_own = not content.is_linked

    def append(self, data: Buffer) -> None:
        content = self._opened() if self._is_own else self._owned()
        self._files.called("append", self.path)
        position = self.size
        content.data[position : position + len(data)] = data
        content.modified_ms = self._files.now_ms
        self.size += len(data)
        self.is_dirty = True
        if self.size > self._zeros_from:
            self._write_ahead(position)

    def _write_ahead(self, position: int) -> None:
        limit = self._zeros_limit
        zeros = zeros_behind(position, self.size - position, limit)
        try:
            self._files.called("write_ahead", self.path)
        except DiskFull:
            self._zeros_from = NEVER
            return
        self._opened().data[self.size :] = zeros
        self._allocated = self._zeros_from = self.size + len(zeros)

    def preallocate(self, limit: int) -> None:
        self._zeros_limit = limit
        self._allocated = max(self._allocated, self.size)
        self._zeros_from = self._allocated if self.size < limit else NEVER

    def trim(self) -> None:
        self._zeros_from = NEVER
        self._is_own = False
        if self._allocated > self.size:
            self._cut(self._opened(), self.size)

    def read_at(self, position: int, size: int, may_block: bool = True) -> memoryview:
        content = self._opened()
        self._files.called("read", self.path)
        end = min(position + size, self.size)
        if content.is_cold and not may_block and position < end:
            raise ColdRead(self, position, end - position)
        return memoryview(bytes(content.data[position:end]))

    def warm(self, position: int, size: int) -> None:
        self._opened().is_cold = False

    def map(self) -> memoryview:
        self._files.called("map", self.path)
        return memoryview(bytes(self._opened().data))

    def rewrite(self, position: int) -> None:
        content = self._owned()
        self._files.called("rewrite", self.path)
        if content.lost_from is not None and position <= content.lost_from:
            content.lost_from = None
        self.is_dirty = True

    def overwrite(self, position: int, data: Buffer) -> None:
        content = self._owned()
        self._files.called("overwrite", self.path)
        assert position + len(data) <= self.size
        content.data[position : position + len(data)] = data
        self.is_dirty = True

    def truncate(self, size: int) -> None:
        self._cut(self._owned(), size)

    def _cut(self, content: Content, size: int) -> None:
        self._files.called("truncate", self.path)
        del content.data[size:]
        content.data += bytes(size - len(content.data))
        self.size = self._allocated = size
        if self._zeros_from != NEVER:
            self._zeros_from = size
        self.is_dirty = True

    def sync(self) -> None:
        content = self._opened()
        self.is_dirty = False
        try:
            self._files.called("sync", self.path)
        except KafkaStorageError as error:
            content.fail_sync()
            raise StorageFailure(str(error)) from error
        content.sync()

    def close(self) -> None:
        self._content = None

    def lease(self) -> object:
        return self._opened()

    def _opened(self) -> Content:
        if self._content is None:
            self._content = self._files.file_at(self.path)
        return self._content

    def _owned(self) -> Content:
        self._content = self._files.own(self.path, self._opened())
        self._is_own = True
        return self._content

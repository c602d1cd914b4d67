"""Records what storage does to its files, and gives every disk that a crash may leave.

A crash leaves what was synced. Of what was not, each write, truncation, new name,
renaming and removal is on the disk or not, whatever the others are: that is more than
any file system does, which keeps at least some of them in order. A part of a file
that was not written, with something behind it that was, holds zeros.
"""

import random
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from odradek.storage.files.files import Buffer, File
from tests.fakes.disk import Content, Directory
from tests.fakes.files import FakeFile, FakeFiles

Promise = TypeVar("Promise")
ROOT_NODE = 0


class Write(NamedTuple):
    """``node`` is a number for a file or directory, whatever its name."""

    node: int
    position: int
    data: bytes


class Truncate(NamedTuple):
    node: int
    size: int


class Link(NamedTuple):
    """A name begins to mean ``child``; ``old_name`` is that which it had before."""

    node: int
    name: str
    child: int
    old_name: str | None = None


class Unlink(NamedTuple):
    node: int
    name: str


class Sync(NamedTuple):
    node: int


Change: TypeAlias = Write | Truncate | Link | Unlink | Sync


class Crash(NamedTuple):
    """``moment`` says after how many changes; of those not synced, some are kept."""

    moment: int
    kept: frozenset[int]


class Recording(Generic[Promise]):
    """Changes in order, and what was promised to clients after how many of them.

    Those up to ``start`` are what was there before, and durable.
    """

    def __init__(self) -> None:
        self.start = 0
        self.changes: list[Change] = []
        self.directories: set[int] = {ROOT_NODE}
        self._promises: list[Promise] = []
        self._positions: list[int] = []

    def promise(self, promise: Promise, position: int | None = None) -> None:
        """From here on, or from an earlier ``position`` on, ``promise`` holds."""
        self._positions.append(len(self.changes) if position is None else position)
        self._promises.append(promise)
        assert self._positions == sorted(self._positions)

    def promised(self, count: int) -> Promise:
        """What held after ``count`` changes."""
        return self._promises[bisect_right(self._positions, count) - 1]

    def unsynced(self, count: int) -> list[int]:
        """The changes among the first ``count`` that no sync followed."""
        synced: set[int] = set()
        found = []
        for index in range(count - 1, -1, -1):
            change = self.changes[index]
            if isinstance(change, Sync):
                synced.add(change.node)
            elif change.node not in synced:
                found.append(index)
        return found[::-1]

    def crashes(
        self, count: int, randoms: int, chance: random.Random
    ) -> Iterator[Crash]:
        """With nothing unsynced, all of it, all but one, only one, and random parts."""
        unsynced = self.unsynced(count)
        everything = frozenset(unsynced)
        yield Crash(count, everything)
        if not unsynced:
            return
        yield Crash(count, frozenset())
        for index in unsynced:
            yield Crash(count, frozenset([index]))
            yield Crash(count, everything - {index})
        for _ in range(randoms if len(unsynced) > 2 else 0):
            share = chance.random()
            yield Crash(
                count, frozenset(each for each in unsynced if chance.random() < share)
            )

    def all_crashes(
        self, counts: Iterable[int], randoms: int, chance: random.Random
    ) -> Iterator[Crash]:
        """Those of several moments; a disk of which the same was promised, once."""
        seen: set[tuple[frozenset[int], int]] = set()
        for count in counts:
            assert count >= self.start
            promise, unsynced = self.promised(count), self.unsynced(count)
            changes = {
                index
                for index, change in enumerate(self.changes[:count])
                if not isinstance(change, Sync)
            }
            for crash in self.crashes(count, randoms, chance):
                there = frozenset(changes.difference(unsynced) | crash.kept)
                if (there, id(promise)) not in seen:
                    seen.add((there, id(promise)))
                    yield crash

    def disk(self, crash: Crash) -> "RecordingFiles":
        """The files as they are found after ``crash``, all of them durable."""
        lost = set(self.unsynced(crash.moment)) - crash.kept
        names: dict[int, dict[str, int]] = {each: {} for each in self.directories}
        contents: dict[int, bytearray] = {}
        for index, change in enumerate(self.changes[: crash.moment]):
            if index not in lost:
                _apply(change, names, contents)
        files = RecordingFiles()
        _fill(files, Path("/"), ROOT_NODE, (names, contents))
        return files


def _apply(
    change: Change, names: dict[int, dict[str, int]], contents: dict[int, bytearray]
) -> None:
    match change:
        case Write(node, position, data):
            content = contents.setdefault(node, bytearray())
            content += bytes(max(0, position - len(content)))
            content[position : position + len(data)] = data
        case Truncate(node, size):
            content = contents.setdefault(node, bytearray())
            content += bytes(max(0, size - len(content)))
            del content[size:]
        case Link(node, name, child, old_name):
            if old_name is not None:
                names[node].pop(old_name, None)
            names[node][name] = child
        case Unlink(node, name):
            names[node].pop(name, None)


def _fill(
    files: "RecordingFiles",
    path: Path,
    node: int,
    found: tuple[dict[int, dict[str, int]], dict[int, bytearray]],
) -> None:
    names, contents = found
    for name, child in names[node].items():
        if child in names:
            files.mkdir(path / name)
            FakeFiles.sync_directory(files, path)
            _fill(files, path / name, child, found)
        else:
            files.put(path / name, bytes(contents.get(child, b"")))


class RecordingFiles(FakeFiles):
    """The file system in memory, which writes down its changes in ``recording``."""

    def __init__(self) -> None:
        super().__init__()
        self.recording: Recording[object] | None = None
        self._numbers: dict[Content | Directory, int] = {self._root: ROOT_NODE}

    def record(self) -> Recording[object]:
        """Begin a recording, in which everything that is there now is durable."""
        self.recording = Recording()
        self._numbers = {self._root: ROOT_NODE}
        self._list(self._root)
        self.recording.start = len(self.recording.changes)
        return self.recording

    def _list(self, directory: Directory) -> None:
        parent = self._number(directory)
        for name, node in directory.names.items():
            self._note(Link(parent, name, self._number(node)))
            if isinstance(node, Directory):
                self._list(node)
            else:
                self._note(Write(self._number(node), 0, bytes(node.data)))
                self._note(Sync(self._number(node)))
        self._note(Sync(parent))

    def open(self, path: Path, *, create: bool = False) -> File:
        is_new = create and not self.exists(path)
        super().open(path, create=create).close()
        content = self.file_at(path)
        if is_new:
            self._link(path, content)
        return RecordedFile(self, path, content)

    def mkdir(self, path: Path) -> None:
        missing = [each for each in (path, *path.parents) if not self.exists(each)]
        super().mkdir(path)
        for each in reversed(missing):
            self._link(each, self._directory_at(each))

    def rename(self, source: Path, target: Path) -> None:
        assert source.parent == target.parent
        super().rename(source, target)
        self._link(target, self._node_at(target), source.name)

    def unlink(self, path: Path) -> None:
        is_there = self.exists(path)
        super().unlink(path)
        if is_there:
            self._note(Unlink(self._number(self._directory_at(path.parent)), path.name))

    def rmtree(self, path: Path) -> None:
        """One name after the other, as the system does it."""
        if not self.exists(path):
            return
        for name in self.listdir(path):
            if isinstance(self._node_at(path / name), Directory):
                self.rmtree(path / name)
            else:
                self.unlink(path / name)
        super().rmtree(path)
        self._note(Unlink(self._number(self._directory_at(path.parent)), path.name))

    def sync_directory(self, path: Path) -> None:
        super().sync_directory(path)
        self._note(Sync(self._number(self._directory_at(path))))

    def sync_all(self) -> None:
        """The whole file system is synced."""
        for node in list(self._numbers):
            if isinstance(node, Directory):
                node.durable = dict(node.names)
            else:
                node.sync()
            self._note(Sync(self._number(node)))

    def note_write(self, content: Content, position: int, data: Buffer) -> None:
        self._note(Write(self._number(content), position, bytes(data)))

    def note_truncate(self, content: Content, size: int) -> None:
        self._note(Truncate(self._number(content), size))

    def note_sync(self, content: Content) -> None:
        self._note(Sync(self._number(content)))

    def _link(
        self, path: Path, node: Content | Directory, old_name: str | None = None
    ) -> None:
        parent = self._number(self._directory_at(path.parent))
        self._note(Link(parent, path.name, self._number(node), old_name))

    def _number(self, node: Content | Directory) -> int:
        number = self._numbers.setdefault(node, len(self._numbers))
        if isinstance(node, Directory) and self.recording is not None:
            self.recording.directories.add(number)
        return number

    def _note(self, change: Change) -> None:
        if self.recording is not None:
            self.recording.changes.append(change)


class RecordedFile(FakeFile):
    def __init__(self, files: RecordingFiles, path: Path, content: Content) -> None:
        super().__init__(files, path, content)
        self._owner = files

    def append(self, data: Buffer) -> None:
        content, position = self._opened(), self.size
        end_before = len(content.data)
        super().append(data)
        if len(data):
            self._owner.note_write(content, position, data)
        # Zeros behind it are a write of their own: either may be lost alone.
        zeros_from = max(self.size, end_before)
        if len(content.data) > zeros_from:
            zeros = content.data[zeros_from:]
            self._owner.note_write(content, zeros_from, zeros)

    def _cut(self, content: Content, size: int) -> None:
        is_change = size != len(content.data)
        super()._cut(content, size)
        if is_change:
            self._owner.note_truncate(content, size)

    def sync(self) -> None:
        content = self._opened()
        super().sync()
        self._owner.note_sync(content)

"""No descriptor is closed under a running call, nor twice; and all are at the end.

Another thread may evict any file at any moment, for a file that it opens. Here that
happens at every call of the system: before it is made, all files are let go.
"""

import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from odradek.storage.files.files import OsFile, OsFiles

CALLS = ("pread", "preadv", "pwrite", "pwritev", "ftruncate", "fdatasync", "fstat")


class Watched:
    """Which numbers are open; ``faults`` are closes of what was not."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.files = OsFiles()
        self.opened: set[int] = set()
        self.faults: list[int] = []
        self.count = 0
        self._open, self._close = os.open, os.close
        monkeypatch.setattr(os, "open", self.open)
        monkeypatch.setattr(os, "close", self.close)
        for name in CALLS:
            if hasattr(os, name):
                monkeypatch.setattr(os, name, self.evicting(getattr(os, name)))
        monkeypatch.setattr(mmap, "mmap", self.evicting(mmap.mmap))

    def open(self, *arguments: Any, **options: Any) -> int:
        number = self._open(*arguments, **options)
        self.opened.add(number)
        return number

    def close(self, number: int) -> None:
        if number not in self.opened:
            self.faults.append(number)
        self.opened.discard(number)
        self._close(number)

    def evicting(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call, before which another thread evicts all files."""

        def called(number: int, *arguments: Any, **options: Any) -> Any:
            self.count += 1
            for file in list(self.files._opened):
                file.close()
            assert number in self.opened, f"{call.__name__} of a closed descriptor"
            return call(number, *arguments, **options)

        return called


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(monkeypatch)


def made(watched: Watched, path: Path) -> OsFile:
    file = watched.files.open(path, create=True)
    assert isinstance(file, OsFile)
    return file


USES: dict[str, Callable[[OsFile], object]] = {
    "append": lambda file: file.append(b"more"),
    "append with zeros": lambda file: (file.preallocate(1 << 20), file.append(b"x")),
    "read": lambda file: file.read_at(2, 3),
    "read beyond the end": lambda file: file.read_at(8, 100),
    "map": lambda file: file.map(),
    "rewrite": lambda file: file.rewrite(0),
    "overwrite": lambda file: file.overwrite(2, b"xy"),
    "truncate": lambda file: file.truncate(4),
    "trim": lambda file: (file.preallocate(1 << 20), file.append(b"x"), file.trim()),
    "sync": lambda file: file.sync(),
    "lease": lambda file: (file.lease(), file.close()),
    "close": lambda file: (file.close(), file.close()),
}


@pytest.mark.parametrize("has_link", [False, True])
@pytest.mark.parametrize("use", USES)
def test_a_file_may_be_evicted_before_any_call(
    watched: Watched, tmp_path: Path, use: str, has_link: bool
) -> None:
    file = made(watched, tmp_path / "a")
    file.append(b"0123456789")
    if has_link:
        file.trim()
        assert watched.files.link(file.path, tmp_path / "b")
    USES[use](file)
    file.close()
    del file
    assert watched.count
    assert (watched.faults, watched.opened) == ([], set())
    if has_link:
        assert (tmp_path / "b").read_bytes() == b"0123456789"


def test_directories_and_copies_are_let_go_once(
    watched: Watched, tmp_path: Path
) -> None:
    files = watched.files
    (tmp_path / "a").write_bytes(b"0123456789")
    files.sync_directory(tmp_path)
    assert files.share(tmp_path / "a", tmp_path / "b")
    files.write_atomic(tmp_path / "c", b"text")
    assert (watched.faults, watched.opened) == ([], set())

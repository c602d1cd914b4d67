"""A file of the operating system that is written ahead with zeros."""

import errno
import os
from pathlib import Path

import pytest

from odradek.storage.files.files import OsFile, OsFiles, StorageFailure
from odradek.storage.files.preallocation import STEP_MIN
from tests.storage.files.test_files import file_size_limit, open_paths

ROOM = 1 << 20


def preallocated(root: Path) -> OsFile:
    file = OsFiles().open(root / "a", create=True)
    assert isinstance(file, OsFile)
    file.append(b"before")
    file.preallocate(ROOM)
    return file


def test_zeros_are_written_ahead_with_an_append(tmp_path: Path) -> None:
    file = preallocated(tmp_path)
    file.append(b"first")
    data = (tmp_path / "a").read_bytes()
    assert data == b"beforefirst" + bytes(STEP_MIN)
    assert file.size == 11
    assert file.read_at(0, 100) == b"beforefirst"
    assert file.map() == b"beforefirst"
    file.append(b"second")
    assert (tmp_path / "a").read_bytes() == b"beforefirstsecond" + bytes(STEP_MIN - 6)
    file.append(bytes(STEP_MIN))  # too large to be written ahead of
    assert (tmp_path / "a").stat().st_size == file.size
    file.append(b"!")
    assert (tmp_path / "a").stat().st_size == file.size + STEP_MIN + 17


def test_the_zeros_are_on_the_disk_as_bytes(tmp_path: Path) -> None:
    """A hole would be given its blocks when it is written to: by the journal."""
    file = preallocated(tmp_path)
    file.append(b"first")
    file.sync()
    assert (tmp_path / "a").stat().st_blocks * 512 >= STEP_MIN


def test_a_trimmed_file_ends_with_what_was_appended(tmp_path: Path) -> None:
    file = preallocated(tmp_path)
    file.append(b"first")
    file.sync()
    file.trim()
    assert file.is_dirty
    assert (tmp_path / "a").read_bytes() == b"beforefirst"
    file.sync()
    file.trim()
    assert not file.is_dirty
    file.append(b"second")
    assert (tmp_path / "a").read_bytes() == b"beforefirstsecond"


def test_zeros_are_known_after_the_file_was_closed(tmp_path: Path) -> None:
    files = OsFiles(max_open_files=1)
    file = files.open(tmp_path / "a", create=True)
    file.preallocate(ROOM)
    file.append(b"first")
    file.sync()
    for name in "bcd":
        files.open(tmp_path / name, create=True)
    assert open_paths(tmp_path) == ["d"]
    file.append(b"second")
    assert (tmp_path / "a").stat().st_size == 5 + STEP_MIN
    file.trim()
    assert (tmp_path / "a").read_bytes() == b"firstsecond"


def test_zeros_that_are_no_longer_wanted_are_used_up(tmp_path: Path) -> None:
    file = preallocated(tmp_path)
    file.append(b"first")
    file.preallocate(0)
    file.append(bytes(STEP_MIN))
    assert (tmp_path / "a").stat().st_size == file.size
    file.append(b"second")
    assert (tmp_path / "a").stat().st_size == file.size


def test_a_cut_file_is_written_ahead_from_its_end(tmp_path: Path) -> None:
    file = preallocated(tmp_path)
    file.append(b"first")
    file.truncate(3)
    assert (tmp_path / "a").read_bytes() == b"bef"
    file.append(b"second")
    assert (tmp_path / "a").read_bytes() == b"befsecond" + bytes(STEP_MIN)


def test_no_room_for_zeros_fails_no_append(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSPC, "no space")

    file = preallocated(tmp_path)
    monkeypatch.setattr(os, "pwritev", refuse)
    file.append(b"first")
    file.append(b"second")
    assert (tmp_path / "a").read_bytes() == b"beforefirstsecond"


def test_a_failed_write_with_zeros_is_cut_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.EIO, "bad")

    file = preallocated(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwritev", refuse)
        with pytest.raises(StorageFailure):
            file.append(b"first")
    assert (tmp_path / "a").read_bytes() == b"before"
    file.append(b"second")
    assert (tmp_path / "a").read_bytes() == b"beforesecond" + bytes(STEP_MIN)


@pytest.mark.parametrize("room", [3, 5, 100])
def test_a_short_write_with_zeros_is_completed(room: int, tmp_path: Path) -> None:
    file = preallocated(tmp_path)
    file.append(bytes(STEP_MIN))
    size = file.size
    if room < 5:
        with file_size_limit(size + room), pytest.raises(StorageFailure):
            file.append(b"first")
    else:
        with file_size_limit(size + room):
            file.append(b"first")
            assert (tmp_path / "a").stat().st_size == size + room
    assert file.size == size + (0 if room < 5 else 5)
    file.append(b"second")
    file.trim()
    data = (tmp_path / "a").read_bytes()[size:]
    assert data == (b"second" if room < 5 else b"firstsecond")

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.storage.files.descriptor import Descriptor
from odradek.storage.files.files import (
    DiskFull,
    File,
    Files,
    OsFile,
    OsFiles,
    StorageFailure,
)
from odradek.storage.files.read_only_files import ReadOnly, ReadOnlyFiles
from odradek.storage.files.system_calls import link, own_copy
from tests.fakes.files import FakeFiles

CONTENT = b"0123456789" * 1000


def two_names(directory: Path) -> tuple[OsFile, Path]:
    """An open file, and its second name."""
    files = OsFiles()
    file = files.open(directory / "a", create=True)
    assert isinstance(file, OsFile)
    file.append(CONTENT)
    file.sync()
    assert files.link(directory / "a", directory / "b")
    return file, directory / "b"


def test_truncation_leaves_the_other_name_its_bytes(tmp_path: Path) -> None:
    file, other = two_names(tmp_path)
    file.truncate(15)
    file.append(b"new")
    file.sync()
    assert other.read_bytes() == CONTENT
    assert (tmp_path / "a").read_bytes() == CONTENT[:15] + b"new"
    assert bytes(file.read_at(0, 99)) == CONTENT[:15] + b"new"
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_a_cut_to_nothing_leaves_the_other_name_its_bytes(tmp_path: Path) -> None:
    file, other = two_names(tmp_path)
    file.truncate(0)
    assert (file.size, (tmp_path / "a").read_bytes()) == (0, b"")
    assert other.read_bytes() == CONTENT


def test_bytes_written_over_leave_the_other_name_as_it_was(tmp_path: Path) -> None:
    file, other = two_names(tmp_path)
    mapped = bytes(file.map())
    file.overwrite(3, b"xyz")
    assert mapped == other.read_bytes() == CONTENT
    wanted = CONTENT[:3] + b"xyz" + CONTENT[6:]
    assert bytes(file.map()) == (tmp_path / "a").read_bytes() == wanted


def append(file: File) -> None:
    file.append(b"new")


def append_ahead(file: File) -> None:
    file.preallocate(1 << 20)
    file.append(b"new")


def overwrite(file: File) -> None:
    file.overwrite(0, b"new")


def truncate(file: File) -> None:
    file.truncate(7)


def rewrite(file: File) -> None:
    file.rewrite(0)


def are_same(files: Files, one: Path, other: Path) -> bool:
    if isinstance(files, FakeFiles):
        return files.file_at(one) is files.file_at(other)
    return one.samefile(other)


CHANGES = {
    append: CONTENT + b"new",
    append_ahead: CONTENT + b"new",
    overwrite: b"new" + CONTENT[3:],
    truncate: CONTENT[:7],
    rewrite: CONTENT,
}


@pytest.mark.parametrize("files", [OsFiles, FakeFiles])
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_is_found_with_two_names_is_copied_before_it_changes(
    tmp_path: Path, change: Callable[[File], None], files: Callable[[], Files]
) -> None:
    """T361: what a fork shares with others stays theirs, whatever it does."""
    mine, other = tmp_path / "a", tmp_path / "b"
    system = files()
    system.mkdir(tmp_path)
    system.write_atomic(mine, CONTENT)
    assert system.link(mine, other)
    file = system.open(mine)
    change(file)
    assert not are_same(system, mine, other)
    file.trim()
    assert system.read_bytes(mine) == CHANGES[change]
    assert system.read_bytes(other) == CONTENT
    file.append(b".")
    file.sync()
    assert system.read_bytes(mine) == CHANGES[change] + b"."


@pytest.mark.parametrize("files", [OsFiles, FakeFiles])
def test_a_file_that_was_sealed_is_asked_again(
    tmp_path: Path, files: Callable[[], Files]
) -> None:
    """A segment is sealed, linked by a snapshot, and appended to: it was cut behind."""
    mine, other = tmp_path / "a", tmp_path / "b"
    system = files()
    system.mkdir(tmp_path)
    file = system.open(mine, create=True)
    file.preallocate(1 << 20)
    file.append(CONTENT)
    file.trim()
    assert system.link(mine, other)
    file.preallocate(1 << 20)
    file.append(b"new")
    file.trim()
    assert system.read_bytes(other) == CONTENT
    assert system.read_bytes(mine) == CONTENT + b"new"


def test_without_room_for_a_copy_nothing_is_appended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, other = two_names(tmp_path)
    file = OsFiles().open(tmp_path / "a")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no")

    with monkeypatch.context() as patch:
        patch.setattr("odradek.storage.files.system_calls.full_sync", full)
        with pytest.raises(DiskFull):
            file.append(b"new")
    assert (tmp_path / "a").read_bytes() == other.read_bytes() == CONTENT
    file.append(b"new")
    assert (tmp_path / "a").read_bytes() == CONTENT + b"new"
    assert other.read_bytes() == CONTENT


def test_an_open_file_goes_on_with_both_names(tmp_path: Path) -> None:
    """A backup links the segment that grows, and knows how much of it to read."""
    file, other = two_names(tmp_path)
    file.append(b"new")
    assert other.read_bytes() == CONTENT + b"new"


def test_a_file_of_one_name_is_not_copied(tmp_path: Path) -> None:
    file, other = two_names(tmp_path)
    other.unlink()
    before = (tmp_path / "a").stat().st_ino
    file.overwrite(0, b"x")
    file.truncate(5)
    assert (tmp_path / "a").stat().st_ino == before


def test_zeros_ahead_of_a_log_are_cut_without_a_copy(tmp_path: Path) -> None:
    """A roll happens on the loop, and a whole segment would be copied there."""
    file = OsFiles().open(tmp_path / "a", create=True)
    file.preallocate(1 << 20)
    file.append(b"batch")
    os.link(tmp_path / "a", tmp_path / "b")
    file.trim()
    assert (tmp_path / "a").stat().st_ino == (tmp_path / "b").stat().st_ino
    assert (tmp_path / "b").read_bytes() == b"batch"


def test_the_copy_is_durable_before_it_has_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, other = two_names(tmp_path)
    calls = []
    module = "odradek.storage.files.system_calls"
    monkeypatch.setattr(
        f"{module}.full_sync", lambda number: calls.append(os.fstat(number).st_nlink)
    )
    monkeypatch.setattr(f"{module}.sync_directory", calls.append)
    replace = Path.replace

    def noted(source: Path, target: Path) -> Path:
        calls.append((source.name, target.name))
        return replace(source, target)

    monkeypatch.setattr(Path, "replace", noted)
    file.truncate(1)
    assert calls == [1, ("a.tmp", "a"), tmp_path]
    assert other.read_bytes() == CONTENT


def test_without_room_for_the_copy_nothing_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, other = two_names(tmp_path)

    def full(*_: object) -> None:
        raise OSError(errno.EIO, "no")

    monkeypatch.setattr("odradek.storage.files.system_calls.full_sync", full)
    with pytest.raises(StorageFailure):
        file.truncate(1)
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]
    assert (tmp_path / "a").read_bytes() == other.read_bytes() == CONTENT
    assert file.size == len(CONTENT)


def test_own_copy_keeps_no_more_than_is_asked_for(tmp_path: Path) -> None:
    _, other = two_names(tmp_path)
    held = Descriptor(os.open(tmp_path / "a", os.O_RDWR))
    own = own_copy(tmp_path / "a", held, 7)
    assert os.fstat(own.number).st_size == 7
    assert own_copy(tmp_path / "a", own, 3) is own
    assert other.read_bytes() == CONTENT


@pytest.mark.parametrize("code", [errno.EXDEV, errno.EPERM, errno.EMLINK])
def test_a_file_system_without_links_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", refuse)
    assert not link(tmp_path / "a", tmp_path / "b")


def test_a_link_of_nothing_or_over_something(tmp_path: Path) -> None:
    two_names(tmp_path)
    with pytest.raises(FileNotFoundError):
        link(tmp_path / "c", tmp_path / "d")
    with pytest.raises(StorageFailure):
        link(tmp_path / "a", tmp_path / "b")
    with pytest.raises(ReadOnly):
        ReadOnlyFiles().link(tmp_path / "a", tmp_path / "c")


def test_the_fake_does_as_the_system() -> None:
    files = FakeFiles()
    files.put(Path("/d/a"), CONTENT)
    file = files.open(Path("/d/a"))
    assert files.link(Path("/d/a"), Path("/d/b"))
    file.append(b"more")
    assert files.content("/d/b") == CONTENT + b"more"
    file.overwrite(0, b"x")
    file.truncate(5)
    assert files.content("/d/b") == CONTENT + b"more"
    assert files.content("/d/a") == b"x1234"
    with pytest.raises(StorageFailure):
        files.link(Path("/d/a"), Path("/d/b"))

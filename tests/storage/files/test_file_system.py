"""What every file system promises, the one in memory and the real one."""

import errno
from pathlib import Path

import pytest

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.file_system import DiskFull, Files, StorageFailure, failure
from odradek.storage.files.files import ColdRead, OsFiles
from tests.fakes.files import FakeFiles


@pytest.fixture(params=["real", "fake"])
def files(request: pytest.FixtureRequest) -> Files:
    return OsFiles() if request.param == "real" else FakeFiles()


@pytest.fixture
def root(files: Files, tmp_path: Path) -> Path:
    files.mkdir(tmp_path)
    return tmp_path


def test_appended_bytes_are_read_back(files: Files, root: Path) -> None:
    file = files.open(root / "a", create=True)
    file.append(b"hello ")
    file.append(bytearray(b"world"))
    assert file.size == 11
    assert file.read_at(6, 5) == b"world"
    assert files.read_bytes(root / "a") == b"hello world"


def test_read_is_short_at_the_end(files: Files, root: Path) -> None:
    file = files.open(root / "a", create=True)
    file.append(b"hello")
    assert file.read_at(3, 100) == b"lo"
    assert file.read_at(5, 100) == b""
    assert file.read_at(9, 100) == b""


def test_reads_of_cached_bytes_do_not_refuse(files: Files, root: Path) -> None:
    file = files.open(root / "a", create=True)
    file.append(b"x" * 100_000)
    assert len(file.read_at(10, 99_990, may_block=False)) == 99_990


def test_missing_file_is_the_callers_business(files: Files, root: Path) -> None:
    with pytest.raises(FileNotFoundError):
        files.open(root / "missing")
    with pytest.raises(FileNotFoundError):
        files.read_bytes(root / "missing")
    with pytest.raises(FileNotFoundError):
        files.listdir(root / "missing")
    files.unlink(root / "missing")
    files.rmtree(root / "missing")


def test_opened_file_has_its_size(files: Files, root: Path) -> None:
    files.open(root / "a", create=True).append(b"hello")
    assert files.open(root / "a").size == 5
    assert files.open(root / "a", create=True).size == 5
    assert files.size(root / "a") == 5


def test_truncate_cuts_and_append_goes_on_there(files: Files, root: Path) -> None:
    file = files.open(root / "a", create=True)
    file.append(b"hello world")
    file.truncate(5)
    file.append(b"!")
    assert files.read_bytes(root / "a") == b"hello!"


def test_map_shows_what_was_written(files: Files, root: Path) -> None:
    file = files.open(root / "a", create=True)
    assert file.map() == b""
    file.append(b"hello")
    assert file.map() == b"hello"
    file.append(b"!")
    assert file.map() == b"hello!"


def test_closed_file_opens_again(files: Files, root: Path) -> None:
    file = files.open(root / "a", create=True)
    file.append(b"hello")
    file.close()
    assert file.read_at(0, 5) == b"hello"


def test_closed_file_that_is_gone_stays_gone(files: Files, root: Path) -> None:
    file = files.open(root / "a", create=True)
    file.close()
    files.unlink(root / "a")
    with pytest.raises(FileNotFoundError):
        file.append(b"hello")
    assert not files.exists(root / "a")


def test_unlinked_file_can_be_used_until_it_is_closed(files: Files, root: Path) -> None:
    file = files.open(root / "a", create=True)
    file.append(b"hello")
    files.unlink(root / "a")
    file.append(b"!")
    file.sync()
    assert file.read_at(0, 6) == b"hello!"


def test_dirty_says_that_bytes_are_not_synced(files: Files, root: Path) -> None:
    file = files.open(root / "a", create=True)
    assert not file.is_dirty
    file.append(b"hello")
    assert file.is_dirty
    file.sync()
    assert not file.is_dirty
    file.rewrite(2)
    assert file.is_dirty
    assert file.read_at(0, 9) == b"hello"


def test_rename_replaces(files: Files, root: Path) -> None:
    files.write_atomic(root / "a", b"new")
    files.write_atomic(root / "b", b"old")
    files.rename(root / "a", root / "b")
    assert files.listdir(root) == ["b"]
    assert files.read_bytes(root / "b") == b"new"


def test_directories(files: Files, root: Path) -> None:
    files.mkdir(root / "x" / "y")
    files.mkdir(root / "x" / "y")
    files.write_atomic(root / "x" / "y" / "a", b"1")
    files.rename(root / "x", root / "z")
    assert not files.exists(root / "x")
    assert files.read_bytes(root / "z" / "y" / "a") == b"1"
    files.sync_directory(root)
    files.rmtree(root / "z")
    assert files.listdir(root) == []


def test_atomic_write_leaves_nothing_beside(files: Files, root: Path) -> None:
    files.write_atomic(root / "a", b"one")
    files.write_atomic(root / "a", b"two")
    assert files.read_bytes(root / "a") == b"two"
    assert files.listdir(root) == ["a"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (errno.ENOSPC, DiskFull),
        (errno.EDQUOT, DiskFull),
        (errno.EIO, StorageFailure),
        (errno.EROFS, StorageFailure),
        (errno.EMFILE, KafkaStorageError),
    ],
)
def test_errors_of_the_system_say_what_they_mean(code: int, expected: type) -> None:
    error = failure(Path("/data/a"), OSError(code, "reason"))
    assert type(error) is expected
    assert "/data/a" in str(error)


def test_cold_read_names_file_and_range() -> None:
    files = FakeFiles()
    files.put(Path("/data/a"), b"hello")
    files.chill("a")
    file = files.open(Path("/data/a"))
    with pytest.raises(ColdRead) as raised:
        file.read_at(1, 10, may_block=False)
    assert (raised.value.position, raised.value.size) == (1, 4)
    assert "/data/a" in str(raised.value)
    raised.value.warm()
    assert file.read_at(1, 10, may_block=False) == b"ello"


def test_power_cut_drops_what_was_not_synced() -> None:
    files = FakeFiles()
    files.mkdir(Path("/data"))
    files.sync_directory(Path("/"))
    file = files.open(Path("/data/a"), create=True)
    file.append(b"synced")
    file.sync()
    files.sync_directory(Path("/data"))
    file.append(b" and not")
    files.open(Path("/data/b"), create=True).sync()
    files.power_cut()
    assert files.listdir(Path("/data")) == ["a"]
    assert files.content("a") == b"synced"


def test_power_cut_takes_back_renames_and_removals() -> None:
    files = FakeFiles()
    files.put(Path("/data/a"), b"1")
    files.put(Path("/data/b"), b"2")
    files.rename(Path("/data/a"), Path("/data/c"))
    files.unlink(Path("/data/b"))
    files.power_cut()
    assert [path.name for path in files.paths()] == ["a", "b"]


def test_atomic_write_survives_a_power_cut() -> None:
    files = FakeFiles()
    files.put(Path("/data/a"), b"old")
    files.write_atomic(Path("/data/a"), b"new")
    files.power_cut()
    assert files.content("a") == b"new"


@pytest.mark.parametrize("nth", [1, 2, 3, 4, 5])
def test_interrupted_atomic_write_leaves_old_or_new(nth: int) -> None:
    files = FakeFiles()
    files.put(Path("/data/a"), b"old")
    files.fail(nth=nth)
    with pytest.raises(KafkaStorageError):
        files.write_atomic(Path("/data/a"), b"new")
    files.power_cut()
    assert files.content("/data/a") in (b"old", b"new")


def test_failed_sync_loses_what_the_next_one_calls_durable() -> None:
    files = FakeFiles()
    files.put(Path("/data/a"), b"old ")
    file = files.open(Path("/data/a"))
    file.append(b"lost ")
    files.fail("sync")
    with pytest.raises(StorageFailure):
        file.sync()
    file.append(b"kept")
    file.sync()
    files.power_cut()
    assert files.content("a") == b"old \0\0\0\0\0kept"


def test_bytes_written_again_after_a_failed_sync_are_durable() -> None:
    files = FakeFiles()
    files.put(Path("/data/a"), b"old ")
    file = files.open(Path("/data/a"))
    file.append(b"kept")
    files.fail("sync")
    with pytest.raises(StorageFailure):
        file.sync()
    file.rewrite(4)
    file.sync()
    files.power_cut()
    assert files.content("a") == b"old kept"

import errno
import os
import resource
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.files import (
    ColdRead,
    DiskFull,
    OsFile,
    OsFiles,
    StorageFailure,
)

LINUX_ONLY = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


def open_paths(root: Path) -> list[str]:
    """The names under ``root`` of which this process holds a descriptor."""
    names = []
    for number in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except FileNotFoundError:
            continue
        if target.startswith(str(root)):
            names.append(Path(target).name)
    return sorted(names)


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Let writes of this process fail behind ``size`` bytes, after a short one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_short_write_is_cut_back(tmp_path: Path) -> None:
    file = OsFiles().open(tmp_path / "a", create=True)
    file.append(b"x" * 1000)
    with file_size_limit(1500), pytest.raises(StorageFailure):
        file.append(b"y" * 1000)
    assert file.size == 1000
    assert (tmp_path / "a").read_bytes() == b"x" * 1000
    file.append(b"z")
    assert (tmp_path / "a").read_bytes() == b"x" * 1000 + b"z"


def test_interrupted_write_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = OsFiles().open(tmp_path / "a", create=True)
    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: pwrite(fd, data[:3], at))
    file.append(b"hello world")
    assert (tmp_path / "a").read_bytes() == b"hello world"
    assert file.size == 11


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk_is_told_apart(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = OsFiles().open(tmp_path / "a", create=True)
    file.append(b"kept")

    def write_some(fd: int, data: bytes, position: int) -> int:
        if position == 4:
            return os.write(fd, data[:1]) and 1
        raise OSError(code, "no space")

    monkeypatch.setattr(os, "pwrite", write_some)
    with pytest.raises(DiskFull):
        file.append(b"lost")
    assert file.size == 4
    assert os.stat(tmp_path / "a").st_size == 4


def test_write_that_cannot_be_cut_back_is_final(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = OsFiles().open(tmp_path / "a", create=True)

    def fail(*_: object) -> int:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, "pwrite", fail)
    monkeypatch.setattr(os, "ftruncate", fail)
    with pytest.raises(StorageFailure):
        file.append(b"lost")


def test_failed_sync_is_final(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = OsFiles().open(tmp_path / "a", create=True)

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space")  # a sync may say so: still final

    monkeypatch.setattr("odradek.storage.files.files.full_sync", fail)
    with pytest.raises(StorageFailure, match="unknown"):
        file.sync()


def test_append_stays_at_the_end_of_a_file_that_was_longer(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"hello" + bytes(100))
    file = OsFiles().open(tmp_path / "a")
    file.truncate(5)
    file.append(b"!")
    assert (tmp_path / "a").read_bytes() == b"hello!"


@LINUX_ONLY
def test_descriptors_are_limited(tmp_path: Path) -> None:
    files = OsFiles(max_open_files=3)
    opened = []
    for number in range(20):
        file = files.open(tmp_path / f"{number:02}", create=True)
        file.append(b"%d" % number)
        file.sync()
        opened.append(file)
    assert len(open_paths(tmp_path)) <= 5
    for number, file in enumerate(opened):
        assert file.read_at(0, 10) == b"%d" % number
    assert len(open_paths(tmp_path)) <= 5


@LINUX_ONLY
def test_dirty_files_are_not_evicted(tmp_path: Path) -> None:
    files = OsFiles(max_open_files=2)
    dirty = [files.open(tmp_path / f"{n}", create=True) for n in range(4)]
    for file in dirty:
        file.append(b"x")
    for number in range(10):
        files.open(tmp_path / f"clean{number}", create=True)
    assert set("0123") <= set(open_paths(tmp_path))


@LINUX_ONLY
def test_used_files_are_evicted_last(tmp_path: Path) -> None:
    files = OsFiles(max_open_files=4)
    favourite = files.open(tmp_path / "favourite", create=True)
    for number in range(30):
        files.open(tmp_path / f"{number}", create=True)
        favourite.read_at(0, 1)
    assert "favourite" in open_paths(tmp_path)


def test_a_closed_file_is_kept_by_nobody(tmp_path: Path) -> None:
    files = OsFiles()
    file = files.open(tmp_path / "a", create=True)
    file.append(b"x")
    known = weakref.ref(file)
    file.close()
    del file
    assert known() is None


@LINUX_ONLY
def test_closed_files_take_no_room(tmp_path: Path) -> None:
    files = OsFiles(max_open_files=2)
    files.open(tmp_path / "kept", create=True).was_used = False
    for number in range(10):
        files.open(tmp_path / f"{number}", create=True).close()
    assert open_paths(tmp_path) == ["kept"]


@LINUX_ONLY
def test_lease_keeps_a_deleted_file_usable(tmp_path: Path) -> None:
    files = OsFiles()
    file = files.open(tmp_path / "a", create=True)
    assert isinstance(file, OsFile)
    file.append(b"hello")
    lease = file.lease()
    files.unlink(tmp_path / "a")
    file.close()
    assert os.pread(lease.number, 5, 0) == b"hello"
    del lease
    assert open_paths(tmp_path) == []


@LINUX_ONLY
def test_descriptor_is_opened_when_it_is_needed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"hello")
    file = OsFiles().open(tmp_path / "a")
    assert file.size == 5
    assert open_paths(tmp_path) == []
    assert file.read_at(0, 5) == b"hello"
    assert open_paths(tmp_path) == ["a"]


@LINUX_ONLY
def test_mapping_holds_one_descriptor(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"hello")
    file = OsFiles().open(tmp_path / "a")
    assert file.map() == b"hello"
    assert open_paths(tmp_path) == ["a"]
    file.close()
    assert open_paths(tmp_path) == []


@LINUX_ONLY
def test_file_system_without_nowait_is_remembered() -> None:
    files = OsFiles()
    file = files.open(Path("/proc/version"))
    file.size = 1000  # /proc says 0
    assert files.can_refuse_to_wait
    assert file.read_at(0, 5, may_block=False) == b"Linux"
    assert not files.can_refuse_to_wait


@LINUX_ONLY
def test_uncached_bytes_are_refused_until_warm(tmp_path: Path) -> None:
    size = 1 << 20
    (tmp_path / "a").write_bytes(os.urandom(size))
    descriptor = os.open(tmp_path / "a", os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)
    file = OsFiles().open(tmp_path / "a")
    try:
        file.read_at(0, size, may_block=False)
    except ColdRead as cold:
        cold.warm()
        assert len(file.read_at(0, size, may_block=False)) == size
    else:
        pytest.skip("this file system keeps everything in memory")


def test_bytes_of_which_only_the_first_are_cached_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = OsFiles().open(tmp_path / "a", create=True)
    file.append(b"hello world")
    monkeypatch.setattr("odradek.storage.files.files._NO_WAIT", 8)
    monkeypatch.setattr(os, "preadv", lambda *_: 4)
    file._files.can_refuse_to_wait = True
    with pytest.raises(ColdRead) as raised:
        file.read_at(1, 10, may_block=False)
    assert (raised.value.position, raised.value.size) == (5, 6)


def test_cold_read_of_a_file_that_is_gone_warms_nothing(tmp_path: Path) -> None:
    file = OsFiles().open(tmp_path / "a", create=True)
    file.append(b"hello")
    (tmp_path / "a").unlink()
    ColdRead(file, 0, 5).warm()


def test_no_descriptors_left_is_not_the_devices_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"hello")
    file = OsFiles().open(tmp_path / "a")

    def fail(*_: object) -> int:
        raise OSError(errno.EMFILE, "too many")

    monkeypatch.setattr(os, "open", fail)
    with pytest.raises(KafkaStorageError) as raised:
        file.read_at(0, 5)
    assert not isinstance(raised.value, StorageFailure)


def test_file_shorter_than_it_was_reads_short(tmp_path: Path) -> None:
    file = OsFiles().open(tmp_path / "a", create=True)
    file.append(b"hello world")
    os.truncate(tmp_path / "a", 5)
    assert file.read_at(0, 11) == b"hello"


def test_a_device_that_fails_when_asked_about_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = OsFiles()

    def fail(*_: object, **__: object) -> os.stat_result:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(Path, "stat", fail)
    for ask in (files.exists, files.size, files.modified_ms):
        with pytest.raises(StorageFailure):
            ask(tmp_path / "a")


def test_a_file_that_is_missing_is_not_the_devices_fault(tmp_path: Path) -> None:
    files = OsFiles()
    assert not files.exists(tmp_path / "a" / "b")
    for ask in (files.size, files.modified_ms):
        with pytest.raises(FileNotFoundError):
            ask(tmp_path / "a")

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.read_only_files import ReadOnly, ReadOnlyFiles

FILES = ReadOnlyFiles()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    path.chmod(0o400)
    return path


def test_reads_what_is_there(path: Path) -> None:
    file = FILES.open(path)
    assert file.size == 10
    assert file.read_at(2, 3) == b"234"
    assert file.read_at(8, 100) == b"89"
    assert file.read_at(10, 1) == b""
    assert file.map() == b"0123456789"
    file.warm(0, 10)
    file.close()
    file.close()
    assert file.read_at(0, 1) == b"0"  # it opens again
    assert FILES.read_bytes(path) == b"0123456789"
    assert FILES.listdir(path.parent) == ["file"]
    assert FILES.exists(path)
    assert FILES.size(path) == 10
    assert FILES.modified_ms(path) > 0


def test_a_close_that_fails_is_not_done_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = FILES.open(path)
    file.read_at(0, 1)
    closed, close = [], os.close

    def failing(number: int) -> None:
        close(number)
        closed.append(number)
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "close", failing)
        with pytest.raises(OSError, match="Input/output"):
            file.close()
        file.close()
        del file
    assert len(closed) == 1


def test_a_file_that_is_cut_meanwhile_reads_short(path: Path) -> None:
    file = FILES.open(path)
    path.chmod(0o600)
    path.write_bytes(b"012")
    assert file.read_at(0, 10) == b"012"


@pytest.mark.parametrize(
    "change",
    [
        lambda path: FILES.open(path, create=True),
        lambda path: FILES.open(path).append(b"x"),
        lambda path: FILES.open(path).truncate(0),
        lambda path: FILES.open(path).rewrite(0),
        lambda path: FILES.open(path).preallocate(100),
        lambda path: FILES.open(path).sync(),
        lambda path: FILES.write_atomic(path, b""),
        lambda path: FILES.unlink(path),
        lambda path: FILES.rename(path, path),
        lambda path: FILES.mkdir(path),
        lambda path: FILES.rmtree(path.parent),
        lambda path: FILES.sync_directory(path.parent),
    ],
)
def test_changes_nothing(path: Path, change: Callable[[Path], object]) -> None:
    with pytest.raises(ReadOnly):
        change(path)
    assert path.read_bytes() == b"0123456789"


def test_what_is_missing_or_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        FILES.open(tmp_path / "missing")
    with pytest.raises(FileNotFoundError):
        FILES.read_bytes(tmp_path / "missing")
    with pytest.raises(KafkaStorageError):
        FILES.read_bytes(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        FILES.listdir(tmp_path / "file")

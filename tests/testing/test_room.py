"""Data is kept in memory where there is room, and nowhere in silence."""

import shutil
import stat
import tempfile
from pathlib import Path

import pytest

from odradek.testing import BrokerError
from odradek.testing.room import new_directory, room


def test_memory_with_room_is_taken(tmp_path: Path) -> None:
    assert room(tmp_path, needed_bytes=0) == tmp_path


def test_without_room_it_is_where_temporary_files_are(tmp_path: Path) -> None:
    too_much = shutil.disk_usage(tmp_path).total + 1
    assert room(tmp_path, too_much) == Path(tempfile.gettempdir())
    assert room(tmp_path / "none", 0) == Path(tempfile.gettempdir())


def test_a_directory_is_of_one_user_alone(tmp_path: Path) -> None:
    first, second = new_directory(tmp_path), new_directory(tmp_path)
    assert first != second
    assert stat.S_IMODE(first.stat().st_mode) == 0o700


def test_where_nothing_can_be_written_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(BrokerError, match=r"no directory .*TMPDIR"):
        new_directory(tmp_path / "none")

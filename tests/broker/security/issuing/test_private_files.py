import os
from pathlib import Path

import pytest

from odradek.broker.security.issuing.private_files import (
    PUBLIC,
    make_folder,
    replace,
    write_new,
)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_nobody_else_reads_it_whatever_the_umask(tmp_path: Path) -> None:
    """A22"""
    before = os.umask(0)
    try:
        make_folder(tmp_path / "a" / "b")
        write_new(tmp_path / "a" / "b" / "key", "x")
    finally:
        os.umask(0o077)
    write_new(tmp_path / "ca.pem", b"x", PUBLIC)
    os.umask(before)
    assert mode(tmp_path / "a" / "b") == 0o700
    assert mode(tmp_path / "a" / "b" / "key") == 0o600
    assert mode(tmp_path / "ca.pem") == 0o644


def test_what_is_there_stays(tmp_path: Path) -> None:
    """A22: and nothing is written through a link that somebody has put there."""
    path = tmp_path / "key"
    write_new(path, "old")
    with pytest.raises(FileExistsError):
        write_new(path, "new")
    assert path.read_text() == "old"
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(OSError, match=r"."):
        write_new(link, "new")
    assert not (tmp_path / "nowhere").exists()


def test_one_takes_the_place_of_another_at_once(tmp_path: Path) -> None:
    path = tmp_path / "key"
    write_new(path, "old")
    opened = path.open()
    replace(path, "new")
    assert path.read_text() == "new"
    assert opened.read() == "old"  # who has it open sees no half of it
    opened.close()
    assert mode(path) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["key"]


def test_what_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "key"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        replace(path, "new")
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["key"]

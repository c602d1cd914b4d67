"""Two folders change places."""

from pathlib import Path

import pytest

from odradek.pipeline.tables.directory_exchange import exchange


def test_folders_change_places(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / folder.name).touch()
    exchange(one, other)
    assert (one / "other").exists()
    assert (other / "one").exists()


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        exchange(tmp_path, tmp_path / "none")

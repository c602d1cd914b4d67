"""``odradek cert`` as its users call it, in a folder of its own."""

from pathlib import Path

import pytest


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which commands are typed."""
    monkeypatch.chdir(tmp_path)
    return tmp_path

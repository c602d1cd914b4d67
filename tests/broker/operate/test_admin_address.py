from pathlib import Path

import pytest

from odradek.broker.operate.admin_address import admin_address


def test_the_shorter_of_two_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert admin_address(tmp_path / "data") == "data/admin.sock"
    assert admin_address(Path("data")) == "data/admin.sock"
    deep = tmp_path / "a" / "b" / "c" / "d" / "e" / "f" / "g"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert admin_address(Path("/tmp")) == "/tmp/admin.sock"

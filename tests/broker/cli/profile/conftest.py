"""A folder of configurations of its own, and ``odradek profile``."""

import json
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.cli.main import main


@pytest.fixture
def config_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


class ProfileShell:
    """Runs ``odradek profile``, and keeps what it said."""

    def __init__(self, captured: pytest.CaptureFixture[str]) -> None:
        self._captured = captured
        self.error = ""

    def run(self, *arguments: str, code: int = 0) -> list[str]:
        """The lines of the output; what went wrong is in ``error``."""
        try:
            found = main(["profile", *arguments])
        except SystemExit as ended:
            found = int(str(ended.code))
        captured = self._captured.readouterr()
        self.error = captured.err
        assert (found, bool(self.error)) == (code, bool(code)), self.error
        return captured.out.splitlines()

    def run_json(self, *arguments: str) -> list[dict[str, Any]]:
        """The objects, one from each line."""
        return [json.loads(line) for line in self.run(*arguments, "--json")]


@pytest.fixture
def profiles(config_home: Path, capsys: pytest.CaptureFixture[str]) -> ProfileShell:
    return ProfileShell(capsys)

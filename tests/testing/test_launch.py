"""The process of a broker sees what it is of, and nothing of a user's project."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.testing import launch
from odradek.testing.forks import LAUNCH
from odradek.testing.launch import REMOVE, has_ended
from tests.broker_process import ended


def run(*arguments: str, **how: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", LAUNCH, *arguments],
        env={**os.environ, **how},
        capture_output=True,
        text=True,
        check=False,
    )


def test_names_of_a_user_are_not_in_the_way(tmp_path: Path) -> None:
    for name in ("odradek", "broker", "json", "selectors"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the user is here')")
    done = run("version", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "odradek" in done.stdout


def test_a_process_is_there_until_it_has_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with ended(process):
        assert not has_ended(process.pid)
    assert has_ended(process.pid)


@pytest.mark.parametrize("lives", [True, False])
def test_the_directory_goes_with_the_process_that_would_have_removed_it(
    tmp_path: Path, lives: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "data"
    directory.mkdir()
    monkeypatch.setattr(launch, "has_ended", lambda process_id: not lives)
    arguments = ["launch.py", REMOVE, "1", str(directory), "version", "--json"]
    monkeypatch.setattr(sys, "argv", arguments)
    assert launch.main() == 0
    assert directory.exists() == lives

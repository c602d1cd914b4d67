"""``odradek pipeline sink``: its actions, and what it says before Spark is there."""

from pathlib import Path

import pytest

from odradek.pipeline.commands import sink

JOB = 'name = "j"\n[source]\ntopics = ["t"]\nbootstrap_servers = "127.0.0.1:1"\n'
JOB += '[table]\npath = "rows"\n'


def test_actions_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert sink.command(["--help"]) == 0
    said = capsys.readouterr().out
    assert "usage: odradek pipeline sink ACTION" in said
    assert all(f"  {name} " in said for name in sink.ACTIONS)
    assert sink.command(["strat"]) == 2
    assert "did you mean start?" in capsys.readouterr().err


@pytest.mark.parametrize("action", ["start", "once"])
def test_wrong_key_of_the_file(
    action: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "job.toml"
    path.write_text(JOB.replace("topics", "topcis"))
    assert sink.command([action, str(path)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"odradek pipeline sink {action}: {path}: [source]")
    assert "Did you mean topics?" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("action", ["start", "once"])
def test_broker_that_is_away(
    action: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "job.toml"
    path.write_text(JOB)
    assert sink.command([action, str(path)]) == 1
    assert "127.0.0.1:1" in capsys.readouterr().err

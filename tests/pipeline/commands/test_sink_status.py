"""``odradek pipeline sink status``, for people and for programs."""

import json
from pathlib import Path

import pytest

from odradek.pipeline.commands import sink

JOB = 'name = "j"\n[source]\ntopics = ["t"]\n[table]\npath = "rows"\n'


def test_new_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.toml"
    path.write_text(JOB)
    assert sink.command(["status", str(path)]) == 0
    assert "nothing committed yet" in capsys.readouterr().out
    assert sink.command(["status", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["job"] == "j"
    assert sink.command(["status", str(tmp_path / "none")]) == 1
    assert "No such file" in capsys.readouterr().err

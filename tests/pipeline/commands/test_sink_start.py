"""``odradek pipeline sink start``: its help; the rest is the sink's."""

import pytest

from odradek.pipeline.commands import sink


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        sink.command(["start", "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert "usage: odradek pipeline sink start" in said
    assert "--rebuild-checkpoint" in said

"""``odradek pipeline sink once``: its help; the rest is the sink's."""

import pytest

from odradek.pipeline.commands import sink


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        sink.command(["once", "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert "usage: odradek pipeline sink once" in said
    assert "--rebuild-checkpoint" in said

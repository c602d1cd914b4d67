import pytest

from odradek.broker.cli.cluster.command import command


def test_actions_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert command([]) == 2
    assert command(["--help"]) == 0
    assert "describe" in capsys.readouterr().out
    assert command(["descibe"]) == 2
    assert "did you mean describe?" in capsys.readouterr().err

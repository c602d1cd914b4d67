import pytest

from odradek.terminal.failure import fail


def test_a_failure_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert fail("health", 1, "first\n  second") == 1
    assert capsys.readouterr().err == "odradek health: first second\n"

import pytest

from odradek.broker.cli.main import main
from odradek.broker.cli.mirror.command import ACTIONS


def test_the_overview_has_all_actions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mirror"]) == 2
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in ACTIONS)

import pytest

from odradek.broker.cli.cert.command import ACTIONS
from odradek.broker.cli.main import main


def test_the_overview_has_all_actions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cert"]) == 2
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in ACTIONS)

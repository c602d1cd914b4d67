import pytest

from odradek.broker.cli.main import main
from odradek.broker.cli.user.command import ACTIONS, ALIASES


def test_the_overview_has_all_actions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["user"]) == 2
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in ACTIONS)


def test_what_others_call_it_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(ALIASES.values()) <= ACTIONS.keys()
    assert not ALIASES.keys() & ACTIONS.keys()
    for alias, action in ALIASES.items():
        with pytest.raises(SystemExit):
            main(["user", alias, "--help"])
        assert f"odradek user {action} " in capsys.readouterr().out

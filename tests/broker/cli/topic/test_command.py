import pytest

from odradek.broker.cli.config import command as config
from odradek.broker.cli.topic import command as topic

Captured = pytest.CaptureFixture[str]
COMMANDS = {"topic": topic, "config": config}
ACTIONS = [(name, each) for name in COMMANDS for each in COMMANDS[name].ACTIONS]


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_said_shows_the_actions(name: str, capsys: Captured) -> None:
    assert COMMANDS[name].command([]) == 2
    shown = capsys.readouterr().out
    for action in COMMANDS[name].ACTIONS:
        assert f"  {action} " in shown


@pytest.mark.parametrize(("name", "action"), ACTIONS)
def test_every_action_has_its_help_with_examples(
    name: str, action: str, capsys: Captured
) -> None:
    with pytest.raises(SystemExit) as ended:
        COMMANDS[name].command([action, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert f"\nexamples:\n  odradek {name} {action}" in shown
    assert "Exit code: 0" in " ".join(shown.split())

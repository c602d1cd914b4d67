import pytest

from odradek.terminal.actions import run_action

ACTIONS = {
    "list": (".version", "say it"),
    "remove": ("nothing", "do it"),
}
PACKAGE = "odradek.broker.cli.node"
Captured = pytest.CaptureFixture[str]


def test_an_action_is_found_and_gets_the_rest(capsys: Captured) -> None:
    assert run_action("thing", PACKAGE, ACTIONS, ["list"], ["odradek thing list"]) == 0
    assert capsys.readouterr().out


def test_nothing_said_shows_the_actions(capsys: Captured) -> None:
    assert run_action("thing", PACKAGE, ACTIONS, [], ["odradek thing list"]) == 2
    assert (
        run_action("thing", PACKAGE, ACTIONS, ["--help"], ["odradek thing list"]) == 0
    )
    shown = capsys.readouterr().out
    usage = "usage: odradek thing ACTION [--bootstrap-server HOST:PORT] [--json] ...\n"
    assert shown.startswith(usage)
    assert "  list            say it\n" in shown
    assert "\nodradek thing ACTION --help says more.\n" in shown
    assert shown.endswith("examples:\n  odradek thing list\n")


def test_actions_need_not_share_any_options(capsys: Captured) -> None:
    assert run_action("thing", PACKAGE, ACTIONS, ["help"], [], shared="") == 0
    assert capsys.readouterr().out.startswith("usage: odradek thing ACTION ...\n")


@pytest.mark.parametrize(
    ("word", "complaint"),
    [
        ("remvoe", "there is no action remvoe; did you mean remove?"),
        ("qqqq", "there is no action qqqq; there are list, remove"),
        ("--json", "say first what to do: list, remove"),
        ("--list", "--list is an action, without --: odradek thing list"),
        ("--json list", "the action comes first: odradek thing list ..."),
        ("--to a:1 --list", "--list is an action, without --: odradek thing list"),
        ("ls", "there is no action ls; did you mean list?"),
        ("rem", "there is no action rem; did you mean remove?"),
        ("delete", "there is no action delete; did you mean remove?"),
    ],
)
def test_an_unknown_action(word: str, complaint: str, capsys: Captured) -> None:
    given = word.split()
    assert run_action("thing", PACKAGE, ACTIONS, given, ["odradek thing list"]) == 2
    assert capsys.readouterr().err == f"odradek thing: {complaint}\n"

import subprocess
import sys
from pathlib import Path

import pytest

from odradek.broker.cli.group.command import ACTIONS, command

ROOT = Path(__file__).parents[4]
Captured = pytest.CaptureFixture[str]


def test_nothing_said_shows_the_actions(capsys: Captured) -> None:
    assert command([]) == 2
    assert command(["--help"]) == 0
    shown = capsys.readouterr().out
    for name in ACTIONS:
        assert f"  {name} " in shown


@pytest.mark.parametrize(
    ("word", "complaint"),
    [
        ("descrive", "there is no action descrive; did you mean describe?"),
        ("qqqq", "there is no action qqqq; there are list, describe"),
        ("--json", "say first what to do: list, describe"),
    ],
)
def test_an_unknown_action(word: str, complaint: str, capsys: Captured) -> None:
    assert command([word]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"odradek group: {complaint}")
    assert error.count("\n") == 1


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_has_its_help_and_understands_typos(
    action: str, capsys: Captured
) -> None:
    for arguments, code in (["--help"], 0), (["--jsno"], 2):
        given = [action, *arguments]
        with pytest.raises(SystemExit) as ended:
            command(given)
        assert ended.value.code == code
    captured = capsys.readouterr()
    assert "Exit code: 0 done, 1 failed, 2 usage." in " ".join(captured.out.split())
    assert f"odradek group {action}: " in captured.err


def test_help_loads_neither_client_nor_protocol() -> None:
    script = (
        "import sys; from odradek.broker.cli.main import main\n"
        "main(['group', '--help'])\n"
        "heavy = {'asyncio', 'socket', 'client', 'protocol', 'storage'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.strip() == "[]"

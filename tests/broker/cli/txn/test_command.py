import socket

import pytest

from odradek.broker.cli.txn.command import ACTIONS, command

Captured = pytest.CaptureFixture[str]
ARGUMENTS = {"describe": ["t"], "abort": ["t"]}


def test_nothing_said_shows_the_actions(capsys: Captured) -> None:
    assert command([]) == 2
    shown = capsys.readouterr().out
    for name in ACTIONS:
        assert f"  {name} " in shown


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_has_its_help_and_understands_typos(
    action: str, capsys: Captured
) -> None:
    for arguments, code in (["--help"], 0), (["--jsno"], 2):
        with pytest.raises(SystemExit) as ended:
            command([action, *arguments])
        assert ended.value.code == code
    captured = capsys.readouterr()
    assert "Exit code: 0 done, 1 failed, 2 usage." in " ".join(captured.out.split())
    assert f"odradek txn {action}: " in captured.err
    assert "did you mean --json?" in captured.err


@pytest.mark.parametrize("action", ACTIONS)
def test_nobody_there_is_one_line_and_code_1(action: str, capsys: Captured) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    given = [action, *ARGUMENTS.get(action, []), "--bootstrap-server", address]
    assert command(given) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"odradek txn {action}: {address}: Connection refused; ")
    assert error.count("\n") == 1

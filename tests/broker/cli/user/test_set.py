import getpass
import io
import sys

import pytest

from odradek.broker.cli.main import main
from odradek.broker.cli.user.set import NoPassword, read_password
from odradek.client.cluster import Cluster
from odradek.client.scram import Credential, describe_users
from tests.broker.cli.conftest import Shell

from .conftest import Typing


def test_a_password_is_read_from_the_input(
    cluster: Cluster, shell: Shell, piped: Typing
) -> None:
    piped("open sesame\nanother line\n")
    assert shell.run("user", "set", "alice") == ["alice: SCRAM-SHA-256 password set"]
    piped("open sesame")
    given = ("alice", "--mechanism", "scram-sha-512", "--iterations", "5000")
    assert shell.run_json("user", "set", *given) == [
        {"user": "alice", "mechanism": "SCRAM-SHA-512", "set": True}
    ]
    assert describe_users(cluster).found["alice"] == [
        Credential("SCRAM-SHA-256", 4096),
        Credential("SCRAM-SHA-512", 5000),
    ]


def test_what_the_broker_refuses_is_said(shell: Shell, piped: Typing) -> None:
    piped("x\n")
    shell.run("user", "set", "alice", "--iterations", "1", code=1)
    assert "alice: UNACCEPTABLE_CREDENTIAL: Too few" in shell.error


def test_an_empty_password_changes_nothing(
    cluster: Cluster, shell: Shell, piped: Typing
) -> None:
    piped("\n")
    shell.run("user", "set", "alice", code=2)
    assert "a password cannot be empty" in shell.error
    assert not describe_users(cluster).found


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def typed(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Somebody types these; what they were asked."""
    asked: list[str] = []
    left = iter(answers)

    def answer(prompt: str, stream: object) -> str:
        asked.append(prompt)
        return next(left)

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(getpass, "getpass", answer)
    return asked


def test_a_terminal_asks_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = typed(monkeypatch, "s3cret", "s3cret")
    assert read_password("al\x1bice") == "s3cret"
    assert asked == ["password of al\\x1bice: ", "again: "]
    typed(monkeypatch, "s3cret", "secret")
    with pytest.raises(NoPassword, match="not the same"):
        read_password("alice")
    asked = typed(monkeypatch, "")
    with pytest.raises(NoPassword, match="empty"):
        read_password("alice")
    assert len(asked) == 1


def test_no_argument_takes_a_password(capsys: pytest.CaptureFixture[str]) -> None:
    for given in (["--password", "x"], ["--mechanism", "PLAIN"]):
        with pytest.raises(SystemExit) as ended:
            main(["user", "set", "alice", *given])
        assert ended.value.code == 2
    assert "SCRAM-SHA-256, SCRAM-SHA-512" in capsys.readouterr().err


def test_a_password_is_no_argument(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["user", "set", "alice", "--password", "open sesame"])
    said = capsys.readouterr().err
    assert "the password is asked for, or is the first line of" in said
    assert "sesame" not in said

import pytest

from odradek.broker.cli.main import main
from odradek.client.cluster import Cluster
from odradek.client.scram import Credential, describe_users
from tests.broker.cli.conftest import Shell

from .conftest import Typing


def test_a_password_is_read_from_the_input(
    cluster: Cluster, shell: Shell, piped: Typing
) -> None:
    piped("open sesame\nanother line\n")
    assert shell.run("user", "set", "alice") == [
        "alice: SCRAM-SHA-256 password set",
        "alice: SCRAM-SHA-512 password set",
    ]
    piped("open sesame")
    given = ("alice", "--mechanism", "scram-sha-512", "--iterations", "5000")
    assert shell.run_json("user", "set", *given) == [
        {"user": "alice", "mechanism": "SCRAM-SHA-512", "set": True}
    ]
    assert describe_users(cluster).found["alice"] == [
        Credential("SCRAM-SHA-256", 4096),
        Credential("SCRAM-SHA-512", 5000),
    ]


def test_one_that_is_made_is_shown_once(shell: Shell) -> None:
    *done, told = shell.run("user", "set", "alice", "--generate")
    assert len(done) == 2
    word, password = told.rsplit(" ", 1)
    assert word == "alice: the password is"
    assert len(password) == 32
    rows = shell.run_json("user", "set", "alice", "--generate")
    assert {len(each["password"]) for each in rows} == {32}
    assert len({each["password"] for each in rows}) == 1


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

from tests.broker.cli.conftest import Shell

from .conftest import Typing


def test_who_is_there_is_shown_and_who_is_not_is_said(
    shell: Shell, piped: Typing
) -> None:
    for mechanism in "SCRAM-SHA-256", "SCRAM-SHA-512":
        piped("x")
        shell.run("user", "set", "alice", "--mechanism", mechanism)
    given = ("user", "describe", "alice", "nobody", "alice")
    assert [line.split() for line in shell.run(*given, code=1)[1:]] == [
        ["alice", "SCRAM-SHA-256", "4096"],
        ["alice", "SCRAM-SHA-512", "4096"],
    ]
    assert "user describe: nobody: RESOURCE_NOT_FOUND: " in shell.error
    (found,) = shell.run_json("user", "describe", "alice")
    assert found == {
        "user": "alice",
        "credentials": [
            {"mechanism": "SCRAM-SHA-256", "iterations": 4096},
            {"mechanism": "SCRAM-SHA-512", "iterations": 4096},
        ],
    }

from odradek.client.cluster import Cluster
from odradek.client.scram import describe_users
from tests.broker.cli.conftest import Shell

from .conftest import Typing


def test_all_passwords_go_or_the_named_one(
    cluster: Cluster, shell: Shell, piped: Typing
) -> None:
    for name in "alice", "bob":
        for mechanism in "SCRAM-SHA-256", "SCRAM-SHA-512":
            piped("x")
            shell.run("user", "set", name, "--mechanism", mechanism)
    assert shell.run("user", "remove", "alice") == [
        "alice: SCRAM-SHA-256 password removed",
        "alice: SCRAM-SHA-512 password removed",
    ]
    assert list(describe_users(cluster).found) == ["bob"]
    given = ("user", "remove", "bob", "--mechanism", "SCRAM-SHA-512")
    assert shell.run_json(*given) == [
        {"user": "bob", "mechanism": "SCRAM-SHA-512", "removed": True}
    ]
    assert [each.mechanism for each in describe_users(cluster).found["bob"]] == [
        "SCRAM-SHA-256"
    ]


def test_who_is_not_there_cannot_go(shell: Shell) -> None:
    shell.run("user", "remove", "nobody", code=1)
    assert "nobody: RESOURCE_NOT_FOUND: " in shell.error
    assert "Did you mean" not in shell.error
    shell.run("user", "remove", "nobody", "--mechanism", "SCRAM-SHA-256", code=1)
    assert "nobody: RESOURCE_NOT_FOUND: " in shell.error


def test_the_user_who_was_meant_is_named(shell: Shell, piped: Typing) -> None:
    piped("x")
    shell.run("user", "set", "alice")
    for action in "remove", "describe":
        shell.run("user", action, "alcie", code=1)
        assert shell.error.endswith("alcie. Did you mean alice?\n")

from tests.broker.cli.conftest import Shell

from .conftest import Typing


def test_users_are_named(shell: Shell, piped: Typing) -> None:
    assert shell.run("user", "list") == ["no users"]
    assert shell.run_json("user", "list") == []
    for name in "bob", "alice":
        piped("x")
        shell.run("user", "set", name, "--mechanism", "SCRAM-SHA-256")
    assert shell.run("user", "list") == [
        "USER   MECHANISM      ITERATIONS",
        "alice  SCRAM-SHA-256        4096",
        "bob    SCRAM-SHA-256        4096",
    ]

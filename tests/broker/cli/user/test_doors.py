"""Users of a data directory, with its broker and without: no listener is needed."""

import json
from pathlib import Path

import pytest

from odradek.broker.cli.main import main
from tests.broker_process import running_broker

# Nobody gets in before there is a user.
CLOSED = (
    *("-o", "listeners=SASL_PLAINTEXT://127.0.0.1:0"),
    *("-o", "sasl.enabled.mechanisms=SCRAM-SHA-256"),
)


class Users:
    """``odradek user`` for one data directory."""

    def __init__(self, directory: Path, said: pytest.CaptureFixture[str]) -> None:
        self._directory = directory
        self._said = said

    def run(self, *arguments: str, code: int = 0) -> str:
        """What it said."""
        given = [*arguments, "--data-dir", str(self._directory)]
        assert main(["user", *given]) == code
        said = self._said.readouterr()
        return said.err if code else said.out

    def known(self) -> dict[str, list[str]]:
        rows = [json.loads(line) for line in self.run("list", "--json").splitlines()]
        return {
            row["user"]: [each["mechanism"] for each in row["credentials"]]
            for row in rows
        }


@pytest.fixture
def users(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Users:
    (tmp_path / "data").mkdir()
    return Users(tmp_path / "data", capsys)


BOTH = ["SCRAM-SHA-256", "SCRAM-SHA-512"]


def walk(users: Users) -> None:
    """Set, show and remove, by whatever door."""
    users.run("set", "alice", "--generate")
    users.run("set", "bob", "--generate", "--mechanism", "SCRAM-SHA-256")
    assert users.known() == {"alice": BOTH, "bob": BOTH[:1]}
    assert "alice  SCRAM-SHA-512" in users.run("describe", "alice")
    users.run("remove", "alice", "--mechanism", "SCRAM-SHA-256")
    assert users.known() == {"alice": BOTH[1:], "bob": BOTH[:1]}
    said = users.run("remove", "alcie", code=1)
    assert "alcie: RESOURCE_NOT_FOUND: " in said
    assert "Did you mean alice?" in said
    said = users.run("remove", "bob", "--mechanism", "SCRAM-SHA-512", code=1)
    assert "bob: RESOURCE_NOT_FOUND: " in said
    said = users.run("set", "x", "--generate", "--iterations", "1", code=1)
    assert "x: UNACCEPTABLE_CREDENTIAL: Too few" in said
    users.run("remove", "alice")
    users.run("remove", "bob")
    assert users.run("list") == "no users\n"


def test_of_a_broker_that_is_stopped(users: Users) -> None:
    walk(users)


def test_of_a_broker_that_runs_and_lets_nobody_in(users: Users, tmp_path: Path) -> None:
    with running_broker(tmp_path / "data", *CLOSED) as broker:
        walk(users)
        users.run("set", "carol", "--generate")
        assert "audit: AlterUserScramCredentials by odradek at admin.sock" in (
            broker.log()
        )
        broker.terminate()
    assert users.known() == {"carol": BOTH}


def test_what_is_no_directory_of_ours_is_left_alone(
    users: Users, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kafkas = tmp_path / "data" / "meta.properties"
    kafkas.write_text("version=1\nnode.id=1\ncluster.id=some\n")
    assert "run 'odradek adopt" in users.run("list", code=1)
    assert [each.name for each in kafkas.parent.iterdir()] == ["meta.properties"]
    nowhere = Users(tmp_path / "nowhere", capsys)
    assert "is not there; --data-dir says where" in nowhere.run("list", code=1)
    assert not (tmp_path / "nowhere").exists()

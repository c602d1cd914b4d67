"""A broker where alice and bob log in, and the command as one of them calls it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.cli.main import main
from tests.broker_process import BrokerProcess, running_broker

SECRET = "a marker of a secret"


@pytest.fixture(scope="session")
def lending_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    folder = tmp_path_factory.mktemp("lending")
    users, options = folder / "users", folder / "server.properties"
    users.write_text("alice:a\nbob:b\n")
    users.chmod(0o600)
    options.write_text(f"delegation.token.secret.key={SECRET}\n")
    words = (
        *("--config", str(options)),
        *("-o", "listeners=SASL_PLAINTEXT://127.0.0.1:0"),
        *("-o", "sasl.enabled.mechanisms=PLAIN"),
        *("-o", f"plain.users.file={users}"),
    )
    with running_broker(folder / "data", *words) as process:
        yield process
        assert "Traceback" not in process.log()
        assert SECRET not in process.log()


class TokenShell:
    """Runs ``odradek token``, and keeps what went wrong."""

    def __init__(
        self, address: str, folder: Path, captured: pytest.CaptureFixture[str]
    ) -> None:
        self._address = address
        self._folder = folder
        self._captured = captured
        self.error = ""

    def run(self, *words: str, user: str = "alice", code: int = 0) -> list[str]:
        """The lines of the output."""
        path = self._folder / user
        path.write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
            f"sasl.username={user}\nsasl.password={user[0]}\n"
        )
        path.chmod(0o600)
        given = ["--bootstrap-server", self._address, "--command-config", str(path)]
        assert main(["token", *words, *given]) == code
        captured = self._captured.readouterr()
        self.error = captured.err
        return captured.out.splitlines()

    def json(self, *words: str, user: str = "alice") -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.run(*words, "--json", user=user)]


@pytest.fixture
def tokens(
    lending_broker: BrokerProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[TokenShell]:
    shell = TokenShell(lending_broker.address, tmp_path, capsys)
    yield shell
    for user in "alice", "bob":
        for token in shell.json("list", user=user):
            if token["owner"] == f"User:{user}":
                shell.run("expire", token["token"], user=user)

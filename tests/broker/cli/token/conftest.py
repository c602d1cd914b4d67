"""A broker where alice and bob log in, and the command as one of them calls it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.cli.main import main
from odradek.testing import Broker, factories

SECRET = "a marker of a secret"


lending = factories.broker(
    scope="session",
    security="sasl_plaintext",
    users={"alice": "a", "bob": "b"},
    config={"delegation.token.secret.key": SECRET},
)


@pytest.fixture(scope="session")
def lending_broker(lending: Broker) -> Iterator[Broker]:
    yield lending
    assert "Traceback" not in lending.log()
    assert SECRET not in lending.log()


class TokenShell:
    """Runs ``odradek token``, and keeps what went wrong."""

    def __init__(
        self, broker: Broker, folder: Path, captured: pytest.CaptureFixture[str]
    ) -> None:
        self._broker = broker
        self._folder = folder
        self._captured = captured
        self.error = ""

    def run(self, *words: str, user: str = "alice", code: int = 0) -> list[str]:
        """The lines of the output."""
        path = self._folder / user
        options = self._broker.config("java", user)
        path.write_text("".join(f"{name}={text}\n" for name, text in options.items()))
        path.chmod(0o600)
        assert main(["token", *words, "--command-config", str(path)]) == code
        captured = self._captured.readouterr()
        self.error = captured.err
        return captured.out.splitlines()

    def json(self, *words: str, user: str = "alice") -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.run(*words, "--json", user=user)]


@pytest.fixture
def tokens(
    lending_broker: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[TokenShell]:
    shell = TokenShell(lending_broker, tmp_path, capsys)
    yield shell
    for user in "alice", "bob":
        for token in shell.json("list", user=user):
            if token["owner"] == f"User:{user}":
                shell.run("expire", token["token"], user=user)

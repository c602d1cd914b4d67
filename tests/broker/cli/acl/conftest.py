"""A secure broker, and ``odradek acl`` as its first user calls it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from odradek.broker.cli.main import main
from tests.secure_broker import SecureBroker, secure_broker


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    with secure_broker(tmp_path_factory.mktemp("guarded")) as broker:
        yield broker


class Acl:
    """Runs ``odradek acl``, and keeps what went wrong."""

    def __init__(self, broker: SecureBroker, said: pytest.CaptureFixture[str]) -> None:
        self._broker = broker
        self._said = said
        self.error = ""

    def run(self, *arguments: str, code: int = 0) -> list[str]:
        """The lines of the output."""
        self._said.readouterr()
        try:
            done = main(["acl", *arguments, *self._broker.as_admin])
        except SystemExit as ended:
            done = int(str(ended.code))
        said = self._said.readouterr()
        self.error = said.err
        assert done == code, said
        return said.out.splitlines()

    def json(self, *arguments: str) -> list[dict[str, Any]]:
        """The objects of the output."""
        return [json.loads(line) for line in self.run(*arguments, "--json")]


@pytest.fixture
def acl(guarded: SecureBroker, capsys: pytest.CaptureFixture[str]) -> Acl:
    """The entries of other tests are gone."""
    found = Acl(guarded, capsys)
    for row in found.json("list"):
        is_prefix = row["patternType"] == "PREFIXED"
        name = row["resourceName"] + "*" * is_prefix
        given = [row["principal"], row["operation"].lower()]
        given += [row["resourceType"].lower().replace("_", "-")]
        given += [name] if row["resourceType"] != "CLUSTER" else []
        given += ["--host", row["host"]]
        given += ["--deny"] * (row["permission"] == "DENY")
        given += ["--literal"] * (name.endswith("*") and not is_prefix)
        found.run("revoke", *given)
    return found

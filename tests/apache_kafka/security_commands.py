"""Our commands of security and Apache Kafka's own tools, on one broker of Kafka's."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from odradek.broker.cli.main import main
from tests.apache_kafka.java_client import JavaClient
from tests.apache_kafka.secure_node import SecureKafka
from tests.patience import PATIENCE_S

ACLS = "org.apache.kafka.tools.AclCommand"
_RESOURCE = re.compile(r".*resourceType=(\w+), name=(.*), patternType=(\w+)\).*")
_ENTRY = re.compile(
    r"\s*\(principal=(.*), host=(.*), operation=(\w+), permissionType=(\w+)\)"
)
_PAUSE_S = 0.05


class Entry(NamedTuple):
    """One entry, in Kafka's words; the fields are those of our JSON."""

    principal: str
    permission: str
    operation: str
    kind: str
    name: str
    pattern: str
    host: str

    @property
    def arguments(self) -> list[str]:
        """What ``odradek acl revoke`` is given for it."""
        is_prefix = self.pattern == "PREFIXED"
        given = [self.principal, self.operation.lower()]
        given += [self.kind.lower().replace("_", "-")]
        if self.kind != "CLUSTER":
            given += [self.name + "*" * is_prefix]
        given += ["--host", self.host]
        given += ["--deny"] * (self.permission == "DENY")
        return given + ["--literal"] * (not is_prefix)


class Desk:
    """Runs our commands and Kafka's; as the one who may do all, or as a user."""

    def __init__(
        self,
        kafka: SecureKafka,
        java: JavaClient,
        folder: Path,
        captured: pytest.CaptureFixture[str],
    ) -> None:
        self.kafka = kafka
        self.java = java
        self.folder = folder
        self._captured = captured
        self.error = ""

    def ours(self, *words: str, file: Path | None = None, code: int = 0) -> list[str]:
        """The lines that a command prints; ``file`` has the options of a user."""
        self._captured.readouterr()
        given = ["--bootstrap-server", self.kafka.address]
        if file is not None:
            port = self.kafka.ports["SASL_PLAINTEXT"]
            given = ["--bootstrap-server", f"127.0.0.1:{port}"]
            given += ["--command-config", str(file)]
        try:
            done = main([*words, *given])
        except SystemExit as ended:
            done = int(str(ended.code))
        said = self._captured.readouterr()
        self.error = said.err
        assert done == code, said
        return said.out.splitlines()

    def json(self, *words: str, file: Path | None = None) -> list[dict[str, Any]]:
        """The objects that a command prints."""
        return [json.loads(line) for line in self.ours(*words, "--json", file=file)]

    def tool(self, name: str, *words: str, file: Path | None = None) -> str:
        """What one of Kafka's tools prints."""
        given = ["--bootstrap-server", self.kafka.address]
        if file is not None:
            port = self.kafka.ports["SASL_PLAINTEXT"]
            given = ["--bootstrap-server", f"127.0.0.1:{port}"]
            given += ["--command-config", str(file)]
        return self.java.tool(name, *given, *words)

    def entries(self, *words: str) -> set[Entry]:
        """Those that our command lists."""
        return entries_of(self.json("acl", "list", *words))

    def their_entries(self, *words: str) -> set[Entry]:
        """Those that Kafka's tool lists."""
        found, resource = set(), ("", "", "")
        for line in self.tool(ACLS, "--list", *words).splitlines():
            if match := _RESOURCE.fullmatch(line):
                resource = (match[1], match[2], match[3])
            elif match := _ENTRY.fullmatch(line):
                found.add(Entry(match[1], match[4], match[3], *resource, match[2]))
        return found

    def revoke_all(self) -> None:
        """No entry is left, as Kafka's tool sees it."""
        for each in self.entries():
            self.ours("acl", "revoke", *each.arguments)
        until(lambda: not self.their_entries())

    def user_file(self, user: str, password: str, *more: str) -> Path:
        """Options with which a user logs in."""
        return self.options_file(
            "sasl.mechanism=SCRAM-SHA-256",
            "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule"
            f' required username="{user}" password="{password}";',
            *more,
        )

    def options_file(self, *lines: str) -> Path:
        """Those of a client, for both our commands and Kafka's."""
        path = self.folder / f"{len(list(self.folder.iterdir()))}.properties"
        path.touch(0o600)
        path.write_text("\n".join(["security.protocol=SASL_PLAINTEXT", *lines]))
        return path


def entries_of(rows: list[dict[str, Any]]) -> set[Entry]:
    """Entries as our commands print them."""
    names = ("principal", "permission", "operation", "resourceType", "resourceName")
    names += ("patternType", "host")
    return {Entry(*(row[name] for name in names)) for row in rows}


def until(is_so: Callable[[], object]) -> None:
    """Wait: Kafka's controller has decided, and its broker follows."""
    end_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end_s
        time.sleep(_PAUSE_S)

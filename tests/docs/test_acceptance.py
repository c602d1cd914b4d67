"""What the acceptance list says that odradek says, it says.

The commands are typed in a folder with a broker, as the page describes it, and the
broker's log is read for what clients get wrong.
"""

import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from tests.docs.acceptance import (
    CLIENTS,
    COMMANDS,
    PAGE,
    VERDICTS,
    Row,
    expression,
    rows,
)
from tests.patience import PATIENCE_S

KAFKAS_OWN = """\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
"""
JOB = """\
name = "orders"
source = {{ {source}, bootstrap_servers = "127.0.0.1:{port}" }}
value = {{ format = "json", schema = "{schema}" }}
table = {{ path = "table" }}
"""
PREPARED = """
odradek topic create orders --partitions 3
seq 1 5 | odradek produce orders -p 0
echo secret | odradek user set alice
mkdir -p empty kafka/orders-0
printf 'version=1\\nnode.id=1\\ncluster.id=some\\n' > kafka/meta.properties
touch kafka/orders-0/00000000000000000000.log
"""


class Walk:
    """A folder with all that the page says is there, and a broker in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "odradek").write_text(
            f'#!/bin/sh\nexec {sys.executable} -m odradek "$@"\n'
        )
        (folder / "odradek").chmod(0o755)
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("KAFKA_", "ODRADEK_", "XDG_"))
        }
        path = f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._environment = {**kept, "PATH": path, "HOME": str(folder)}
        with self._log.open("w") as log:
            self.broker = self._started("odradek serve --port 0", log)
        _, _, told = self._line(self.broker).partition(" on 127.0.0.1:")
        self._port = told.partition(",")[0]
        self._environment["ODRADEK_BOOTSTRAP_SERVER"] = f"127.0.0.1:{self._port}"
        said = self.type(PREPARED)
        assert said.returncode == 0, said.stderr
        self._write_files()
        with (folder / "member").open("w") as ignored:
            self.member = self._started("odradek consume orders -g readers", ignored)
        self._line(self.member)

    @property
    def _log(self) -> Path:
        return self._folder / "log"

    def _started(self, command: str, errors: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command.split(),
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=errors,  # type: ignore[call-overload]
            text=True,
        )

    def _line(self, process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, self._log.read_text()
        return line

    def _write_files(self) -> None:
        named, schema = 'topics = ["orders"]', "id BIGINT"
        jobs = {
            "key": ('topic = ["orders"]', schema, self._port),
            "type": (named, "id BIGINTT", self._port),
            "topic": ('topics = ["ordres"]', schema, self._port),
            "broker": (named, schema, "1"),
        }
        for name, (source, wanted, port) in jobs.items():
            text = JOB.format(source=source, schema=wanted, port=port)
            (self._folder / f"{name}.toml").write_text(text)
        (self._folder / "kafka.properties").write_text(KAFKAS_OWN)

    def type(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", self.ported(command)],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )

    def ported(self, text: str) -> str:
        """Where the page says 9092, this broker has a port of its own."""
        return re.sub(r"\b9092\b", self._port, text)

    def as_on_page(self, text: str) -> str:
        return re.sub(rf"\b{self._port}\b", "9092", text)

    def log(self) -> str:
        return self.as_on_page(self._log.read_text())

    def stop(self) -> None:
        for process in (self.member, self.broker):
            process.kill()
            process.communicate()


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    walked = Walk(tmp_path_factory.mktemp("walk"))
    yield walked
    walked.stop()


@pytest.mark.parametrize("row", rows(COMMANDS), ids=lambda row: row.typed)
def test_a_mistake_is_answered_as_the_page_says(row: Row, walk: Walk) -> None:
    done = walk.type(row.typed)
    assert done.returncode in (1, 2), done
    said = walk.as_on_page(done.stderr.splitlines()[-1])
    said = re.sub(r" \(see odradek [\w -]+\)$", "", said)
    wanted = r"odradek [\w -]+: " + expression(row.said)
    assert re.fullmatch(wanted, said), f"{PAGE}:{row.line}: {said}"


@pytest.mark.parametrize("row", rows(CLIENTS), ids=lambda row: row.typed)
def test_the_log_names_a_client_that_cannot_be_served(row: Row, walk: Walk) -> None:
    wanted = re.compile(expression(row.said) + "$", re.MULTILINE)
    if row.typed.startswith("curl "):
        address = walk.ported(row.typed.removeprefix("curl "))
        with suppress(OSError):
            urllib.request.urlopen(address, timeout=PATIENCE_S)
        assert wanted.search(walk.log()), walk.log()
        return
    options = dict(each.split("=", 1) for each in row.typed.split())
    address = walk.ported("127.0.0.1:9092")
    consumer = Consumer({"bootstrap.servers": address, "group.id": "g", **options})
    consumer.subscribe(["orders"])
    for _ in range(PATIENCE_S):
        consumer.poll(1)
        if wanted.search(walk.log()):
            break
    consumer.close()
    assert wanted.search(walk.log()), walk.log()


def test_nothing_is_bad_and_hardly_anything_less_than_good() -> None:
    verdicts = [row.verdict for row in rows()]
    assert set(verdicts) <= set(VERDICTS), verdicts
    assert "bad" not in verdicts
    assert verdicts.count("ok") <= 2
    assert len(rows(COMMANDS)) > 25
    assert len(rows(CLIENTS)) >= 3


def test_every_row_has_as_many_cells_as_its_table() -> None:
    by_table = {COMMANDS: 3, CLIENTS: 3}
    for heading, count in by_table.items():
        assert {len(row.cells) for row in rows(heading)} == {count}

"""Two commands to a secure broker, and what they print is pasted into each client.

There is no kcat: what it is given, librdkafka is, which is all of kcat that matters.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.broker.cli.snippets.snippets import CLIENTS
from tests.apache_kafka import jars
from tests.broker_process import BrokerProcess
from tests.patience import PATIENCE_S
from tests.ports import free_ports

KCAT = """\
#!{python}
import sys
from confluent_kafka import Producer
file, topic = sys.argv[sys.argv.index("-F") + 1], sys.argv[sys.argv.index("-t") + 1]
options = dict(line.split("=", 1) for line in open(file).read().splitlines())
producer = Producer(options)
failed = []
for line in sys.stdin.read().splitlines():
    producer.produce(topic, line, callback=lambda error, _: failed.append(error))
producer.flush()
sys.exit(failed != [None])
"""
CONSOLE = "org.apache.kafka.tools.ConsoleProducer"
# Spark has tests of its own: a start of it takes minutes.
PASTED = [each for each in CLIENTS if each != "spark"]
INIT, SERVE = "secure init", "serve --secure"
# The snippets of both ways differ in where their keys are.
OFTEN = [(INIT, "java"), (INIT, "kafka-python"), (SERVE, "odradek"), (SERVE, "kcat")]
BOTH_WAYS = [
    pytest.param(way, each, marks=[] if (way, each) in OFTEN else [pytest.mark.long])
    for way in (INIT, SERVE)
    for each in PASTED
]


class Walk:
    """A folder in which somebody types, with a broker."""

    def __init__(self, folder: Path, way: str) -> None:
        self.folder = folder
        self.way = way
        is_made = way == INIT
        self.keys = folder / ("secure" if is_made else "data/security")
        tools = {
            "odradek": f'#!/bin/sh\nexec {sys.executable} -m odradek "$@"\n',
            "kcat": KCAT.format(python=sys.executable),
            "kafka-console-producer.sh": "#!/bin/sh\nexec "
            + " ".join(f"'{word}'" for word in jars.java(CONSOLE))
            + ' "$@"\n',
        }
        (folder / "bin").mkdir()
        for name, text in tools.items():
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o755)
        path = f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path}
        self.broker = BrokerProcess(folder / "data")

    def type(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", command],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def pasted(printed: str) -> dict[str, str]:
    """The snippets, by client, as they were printed."""
    parts = re.split(r"^# ([a-z-]+): .*\n", printed, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.fixture(scope="module", params=[INIT, SERVE])
def walk(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Walk]:
    walked = Walk(tmp_path_factory.mktemp("walk"), request.param)
    yield walked
    walked.broker.kill()


@pytest.fixture(scope="module")
def printed(walk: Walk) -> dict[str, str]:
    """What is said of clients, with a secure broker that runs."""
    broker = walk.broker
    broker.port = free_ports(1)[0]
    if walk.way == SERVE:
        broker.options = ["--secure"]
        broker.start()
        where = f"--dir data/security --bootstrap-server {broker.address}"
        return pasted(walk.type(f"odradek secure show {where}"))
    said = walk.type(f"odradek secure init --port {broker.port}")
    broker.options = ["--config", str(walk.folder / "secure" / "server.properties")]
    broker.start()
    return pasted(said)


@pytest.mark.parametrize(("walk", "client"), BOTH_WAYS, indirect=["walk"])
def test_each_client_writes_a_record(
    client: str, walk: Walk, printed: dict[str, str]
) -> None:
    """S028"""
    assert set(printed) == set(CLIENTS)
    text = printed[client]
    if client in ("kcat", "java", "odradek"):
        walk.type(text)
    else:
        path = walk.folder / f"as_{client.replace('-', '_')}.py"
        path.write_text(text)
        walk.type(f"{sys.executable} {path}")
    own = printed["odradek"].splitlines()[-1]
    word = "from Java" if client == "java" else f"from {client}"
    assert word in walk.type(own).splitlines()


def test_nobody_else_gets_in(walk: Walk, printed: dict[str, str]) -> None:
    address = walk.broker.address
    with pytest.raises(AssertionError, match="it expects TLS"):
        walk.type(f"odradek doctor --bootstrap-server {address}")
    assert "Traceback" not in walk.broker.log()
    password = (walk.keys / "admin.password").read_text().strip()
    assert password not in walk.broker.log()

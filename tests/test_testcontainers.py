"""T370: testcontainers' Kafka modules start our image as they start Kafka's.

There is no docker here: what the image has in fixed places is in a folder of the test,
and the modules' own words are run with these places in them.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from odradek.client.connection import Connection
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[1]
READY = re.compile(r"odradek ready on (.+), data in")
# The address that a client has: a mapped port, known when the container runs.
MAPPED = "localhost:54321"

ALL = {
    "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS": "1",
    "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
}
KRAFT = {
    **ALL,
    "KAFKA_LISTENERS": (
        "PLAINTEXT://127.0.0.1:0,BROKER://127.0.0.1:0,CONTROLLER://127.0.0.1:0"
    ),
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": (
        "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"
    ),
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_NODE_ID": "1",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9094",
    "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
    "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES": str((1 << 63) - 1),
    "CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw",
}
ZOOKEEPER = {
    **ALL,
    "KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:0,BROKER://127.0.0.1:0",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "KAFKA_BROKER_ID": "1",
    "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES": "10000000",
}
TOLD = f"PLAINTEXT://{MAPPED},BROKER://c0ffee:9093"


class Module(NamedTuple):
    """How a module runs an image, what it puts there, and what it waits for."""

    shell: str
    environment: dict[str, str]
    script: str
    awaited: str


JAVA = Module(
    "",
    KRAFT,
    "#!/bin/bash\nexport KAFKA_ADVERTISED_LISTENERS={told}\n/etc/kafka/docker/run \n",
    ".*Transitioning from RECOVERY to RUNNING.*",
)
MODULES = {
    "java": JAVA,
    # Two listeners of the user's, by names of the module.
    "java, more listeners": JAVA._replace(
        environment={
            **KRAFT,
            "KAFKA_LISTENERS": f"{KRAFT['KAFKA_LISTENERS']},TC-0://localhost:0",
            "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": (
                f"TC-0:PLAINTEXT,{KRAFT['KAFKA_LISTENER_SECURITY_PROTOCOL_MAP']}"
            ),
        },
        script=JAVA.script.replace("{told}", "{told},TC-0://kafka:19092"),
    ),
    "java, confluent": JAVA._replace(
        script=JAVA.script.replace("/kafka/", "/confluent/")
    ),
    ".net": JAVA._replace(
        script=JAVA.script.replace("{told}", "{told},").replace("/etc", "exec /etc")
    ),
    "go": JAVA._replace(
        shell="bash ",
        script=(
            "#!/bin/bash\n"
            "source /etc/confluent/docker/bash-config\n"
            "export KAFKA_ADVERTISED_LISTENERS={told}\n"
            "echo Starting Kafka KRaft mode\n"
            "sed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure\n"
            "echo '' > /etc/confluent/docker/ensure\n"
            "/etc/confluent/docker/configure\n"
            "/etc/confluent/docker/launch"
        ),
    ),
    "node": JAVA._replace(
        environment={**ZOOKEEPER, "KAFKA_ZOOKEEPER_CONNECT": "localhost:2181"},
        script=(
            "#!/bin/bash\n"
            "export KAFKA_ADVERTISED_LISTENERS={told}\n"
            "echo '' > /etc/confluent/docker/ensure \n"
            "zookeeper-server-start zookeeper.properties &\n"
            "/etc/confluent/docker/run \n"
        ),
    ),
    "python": Module(
        "sh ",
        ZOOKEEPER,
        (
            "#!/bin/bash\n\n"
            "echo 'clientPort=2181' > zookeeper.properties\n"
            "zookeeper-server-start zookeeper.properties &\n"
            "export KAFKA_ZOOKEEPER_CONNECT='localhost:2181'\n\n"
            "export KAFKA_ADVERTISED_LISTENERS={told}\n"
            ". /etc/confluent/docker/bash-config\n"
            "/etc/confluent/docker/configure\n"
            "/etc/confluent/docker/launch"
        ),
        r".*\[KafkaServer id=\d+\] started.*",
    ),
    "python, kraft": Module(
        "sh ",
        KRAFT,
        (
            "#!/bin/bash\n\n"
            "sed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure\n"
            "export KAFKA_ADVERTISED_LISTENERS={told}\n"
            ". /etc/confluent/docker/bash-config\n"
            "/etc/confluent/docker/configure\n"
            "/etc/confluent/docker/launch"
        ),
        ".*Kafka Server started.*",
    ),
}


class Image:
    """What the Dockerfile puts where, below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        dockerfile = (ROOT / "docker" / "Dockerfile").read_text()
        copies = re.findall(r"^COPY --chmod=755 (\S+) (\S+)$", dockerfile, re.MULTILINE)
        assert len(copies) == 6
        for source, target in copies:
            place = self.place(target)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / source, place)
            place.chmod(0o755)
        self.place("/tmp").mkdir()
        # It has nothing but what Debian has, and this command.
        command = self.place("/usr/local/bin/odradek")
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m odradek "$@"\n')
        command.chmod(0o755)
        properties = self.place("/etc/odradek/server.properties")
        properties.parent.mkdir()
        properties.write_text(f"log.dirs={folder}/data\nlog.min.free.bytes=0\n")

    def place(self, path: str) -> Path:
        return self.folder / path.lstrip("/")

    def text(self, text: str) -> str:
        """What a module says, with the places of this image."""
        return text.replace("/etc/", f"{self.folder}/etc/")

    @contextlib.contextmanager
    def running(
        self, *command: str, **environment: str
    ) -> Iterator[subprocess.Popen[str]]:
        path = f"{self.place('/usr/local/bin')}:/usr/bin:/bin"
        process = subprocess.Popen(
            [str(self.place("/usr/local/bin/odradek-entrypoint")), *command],
            env={
                "PATH": path,
                "PYTHONPATH": str(ROOT),
                "ODRADEK_CONFIG": str(self.place("/etc/odradek/server.properties")),
                **environment,
            },
            cwd=self.place("/tmp"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # a shell, and the broker below it
        )
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


@pytest.fixture
def image(tmp_path: Path) -> Image:
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    return Image(tmp_path)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_starts_the_image_and_finds_its_words(image: Image, name: str) -> None:
    module = MODULES[name]
    script = image.place("/tmp/testcontainers_start.sh")
    wait = f"while [ ! -f {script} ]; do sleep 0.1; done; {module.shell}{script}"
    with image.running("sh", "-c", wait, **module.environment) as process:
        new = script.with_suffix(".new")
        new.write_text(image.text(module.script.format(told=TOLD)))
        new.chmod(0o777)
        new.rename(script)
        lines = _lines_until(process, module.awaited)
        found = READY.search("\n".join(lines))
        assert found is not None, lines
        opened = found[1].split(", ")
        # The listener of the controller is known, and not opened.
        listeners = module.environment["KAFKA_LISTENERS"].split(",")
        assert len(opened) == len([each for each in listeners if "CONTR" not in each])
        host, _, port = opened[0].rpartition(":")
        with Connection(host, int(port), timeout_s=PATIENCE_S) as connection:
            request = MetadataRequest(topics=[])
            (broker,) = connection.request(request, MetadataResponse).brokers
        assert f"{broker.host}:{broker.port}" == MAPPED


def _lines_until(process: subprocess.Popen[str], awaited: str) -> list[str]:
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line.rstrip())
        if re.match(awaited, line):
            return lines
    raise AssertionError("\n".join(lines))


def test_the_image_says_it_when_nobody_waits_in_a_shell(image: Image) -> None:
    options = {"KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:0", "KAFKA_NODE_ID": "7"}
    with image.running(**options) as process:
        lines = _lines_until(process, "Kafka Server started$")
        assert lines[-3:-1] == [
            "Transitioning from RECOVERY to RUNNING",
            "[KafkaServer id=7] started",
        ]


def test_who_wants_no_such_words_says_so(image: Image) -> None:
    options = {"KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:0", "KAFKA_READY_WORDS": ""}
    with image.running(**options) as process:
        lines = _lines_until(process, "odradek ready on")
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        assert "RUNNING" not in "\n".join(lines) + process.stdout.read()

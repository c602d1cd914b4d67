"""One Apache Kafka broker that is its own controller, on a directory of a test."""

import contextlib
import hashlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import confluent_kafka

from odradek.client.quotas import alter_quotas, describe_quotas
from tests.apache_kafka import jars
from tests.broker_process import ended
from tests.client.live import connected, wait_until
from tests.java_archive import archive_options
from tests.patience import PATIENCE_S
from tests.ports import free_ports

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
FORMATTED = jars.HERE / "target" / "formatted"
_MARK, _MARKED = {"user": "settled"}, {"producer_byte_rate": 1.0}

_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={data_dir}
num.partitions=1
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.retention.ms=-1
"""


class KafkaNode:
    """Apache Kafka as a process; it can be stopped, changed and started again."""

    def __init__(
        self,
        root: Path,
        options: Mapping[str, str] | None = None,
        features: Mapping[str, int] | None = None,
    ) -> None:
        self.data_dir = root / "kafka-data"
        self.port, self.controller_port = free_ports(2)
        self._log_path = root / "kafka.log"
        self._properties = root / "kafka.properties"
        text = _PROPERTIES.format(
            port=self.port,
            controller_port=self.controller_port,
            data_dir=self.data_dir,
        )
        lines = [f"{name}={value}\n" for name, value in (options or {}).items()]
        self._properties.write_text(text + "".join(lines))
        self._log_start = 0
        self._process: subprocess.Popen[bytes] | None = None
        shutil.copytree(formatted(features or {}), self.data_dir)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self, java_options: Sequence[str] | None = None) -> None:
        """Return when it answers. ``java_options`` are its archive's if not given."""
        if java_options is None:
            java_options = archive_options("kafka", jars.origin(), train)
        command = jars.java("kafka.Kafka", str(self._properties), heap="512M")
        command[1:1] = java_options
        self._log_start = len(self.log())
        with self._log_path.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE_S
        while not self._is_up():
            assert self._process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.1)

    def configure(self, options: Mapping[str, str]) -> None:
        """Options for the next start; they win over those before."""
        with self._properties.open("a") as file:
            file.writelines(f"{name}={value}\n" for name, value in options.items())

    def stop(self) -> None:
        """A clean stop: everything is closed in order."""
        self._end("terminate")

    def kill(self) -> None:
        """As ``kill -9``."""
        self._end("kill")

    def _end(self, how: str) -> None:
        process, self._process = self._process, None
        if process is not None:
            with ended(process):
                getattr(process, how)()
                process.wait(timeout=PATIENCE_S)

    def _is_up(self) -> bool:
        return "Kafka Server started" in self.log()[self._log_start :]

    def settle(self) -> None:
        """Return when all parts of the broker have what its controller has decided.

        They hear of it one after another, and what is asked of a broker first of all.
        So a change is made and seen, and one more: when that is seen, all parts are
        done with what was before it. Nothing is left behind.
        """
        with connected(self.port) as cluster:
            for value, seen in ((1.0, [_MARKED]), (None, [])):
                alter_quotas(cluster, _MARK, dict.fromkeys(_MARKED, value))
                wait_until(
                    lambda seen=seen: (  # type: ignore[misc]
                        [x.values for x in describe_quotas(cluster, _MARK)] == seen
                    )
                )

    def log(self) -> str:
        """All that it has logged."""
        return self._log_path.read_text() if self._log_path.exists() else ""


@contextlib.contextmanager
def running_kafka(
    root: Path,
    options: Mapping[str, str] | None = None,
    features: Mapping[str, int] | None = None,
) -> Iterator[KafkaNode]:
    """Apache Kafka for the length of a test."""
    node = KafkaNode(root, options, features)
    try:
        node.start()
        yield node
    finally:
        node.kill()


def formatted(features: Mapping[str, int]) -> Path:
    """A directory as Apache Kafka's tool formats it, to be copied."""
    words = [f"--feature={name}={level}" for name, level in features.items()]
    of = "\n".join([_PROPERTIES, jars.origin(), *words])
    found = FORMATTED / hashlib.sha256(of.encode()).hexdigest()[:16]
    if not found.exists():
        FORMATTED.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FORMATTED) as folder:
            made, properties = Path(folder) / "data", Path(folder) / "properties"
            properties.write_text(
                _PROPERTIES.format(port=1, controller_port=2, data_dir=made)
            )
            tool = ("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID)
            jars.run_tool(*tool, "-c", str(properties), *words)
            with contextlib.suppress(OSError):  # another process was faster
                made.rename(found)
    return found


def train(java_options: list[str]) -> None:
    """One that starts, is written to and read, and ends in order."""
    with tempfile.TemporaryDirectory() as folder:
        node = KafkaNode(Path(folder))
        node.start(java_options)
        address = {"bootstrap.servers": node.address, "log_level": 0}
        producer = confluent_kafka.Producer({**address, "transactional.id": "train"})
        producer.init_transactions(60)
        producer.begin_transaction()
        producer.produce("train", b"value")
        producer.commit_transaction(60)
        first = {"group.id": "train", "auto.offset.reset": "earliest"}
        consumer = confluent_kafka.Consumer({**address, **first})
        consumer.subscribe(["train"])
        assert consumer.poll(60) is not None
        consumer.commit()
        consumer.close()
        node.stop()

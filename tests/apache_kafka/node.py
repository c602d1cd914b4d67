"""One Apache Kafka broker that is its own controller, on a directory of a test."""

import contextlib
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from . import jars

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
START_TIMEOUT_S = 180

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
        self.port, controller_port = _free_ports(2)
        self._log_path = root / "kafka.log"
        self._properties = root / "kafka.properties"
        text = _PROPERTIES.format(
            port=self.port, controller_port=controller_port, data_dir=self.data_dir
        )
        lines = [f"{name}={value}\n" for name, value in (options or {}).items()]
        self._properties.write_text(text + "".join(lines))
        self._log_start = 0
        self._process: subprocess.Popen[bytes] | None = None
        format_ = ["format", "-t", CLUSTER_ID, "-c", str(self._properties)]
        for name, level in (features or {}).items():
            format_ += ["--feature", f"{name}={level}"]
        jars.run_tool("kafka.tools.StorageTool", *format_)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Return when it answers."""
        command = jars.java("kafka.Kafka", str(self._properties), heap="512M")
        self._log_start = len(self.log())
        with self._log_path.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._is_up():
            assert self._process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.1)

    def stop(self) -> None:
        """A clean stop: everything is closed in order."""
        self._end("terminate")

    def kill(self) -> None:
        """As ``kill -9``."""
        self._end("kill")

    def _end(self, how: str) -> None:
        process, self._process = self._process, None
        if process is not None:
            getattr(process, how)()
            process.wait(timeout=60)

    def _is_up(self) -> bool:
        return "Kafka Server started" in self.log()[self._log_start :]

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
    node.start()
    try:
        yield node
    finally:
        node.kill()


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]

"""Two brokers of a kind, and the controller of Apache Kafka's that they share.

Run as a script it prepares the data directory of a node of Apache Kafka.
"""

import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic
from peers import CLUSTER_ID, JAVA, OF_RELEASE
from targets import Broker, Target, odradek

from odradek.client.connection import Connection
from odradek.protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)

CONTROLLER, LEADER, FOLLOWER = 100, 1, 2
PATIENCE_S = 120
_OF_ALL = """\
log.dirs={data_dir}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
"""
_OF_BROKER = """\
process.roles=broker
node.id={node}
controller.quorum.voters=100@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port}
"""
_OF_CONTROLLER = """\
process.roles=controller
node.id={node}
controller.quorum.voters={node}@127.0.0.1:{port}
listeners=CONTROLLER://127.0.0.1:{port}
"""


class Pair:
    """Both brokers: what is measured of them at once, and of each."""

    def __init__(self, leader: Broker, follower: Broker) -> None:
        self.name = leader.name
        self.leader, self.follower = leader, follower
        self._read: list[tuple[float, float]] = []
        self._admin = AdminClient({"bootstrap.servers": leader.address, "log_level": 2})

    @property
    def port(self) -> int:
        """Of the one that leads."""
        return self.leader.port

    def cpu_seconds(self) -> float:
        """Of both; what each has used is to be had by ``spent`` afterwards."""
        self._read.append((self.leader.cpu_seconds(), self.follower.cpu_seconds()))
        return sum(self._read[-1])

    def spent(self) -> tuple[float, float]:
        """CPU seconds of leader and follower between the last two readings."""
        before, after = self._read[-2:]
        return after[0] - before[0], after[1] - before[1]

    def make_topic(self, name: str, replicas: Sequence[int], partitions: int) -> None:
        """A topic whose partitions are all led by the first of its replicas."""
        new = NewTopic(
            name,
            partitions,
            replica_assignment=[list(replicas)] * partitions,
            config={"min.insync.replicas": str(len(replicas))},
        )
        self._admin.create_topics([new])[name].result(PATIENCE_S)
        self.wait_in_sync(name, replicas)

    def delete_topic(self, name: str) -> None:
        self._admin.delete_topics([name])[name].result(PATIENCE_S)

    def move(self, name: str, replicas: Sequence[int]) -> None:
        """Have other replicas hold partition 0."""
        partition = ReassignablePartition(partition_index=0, replicas=list(replicas))
        request = AlterPartitionReassignmentsRequest(
            topics=[ReassignableTopic(name=name, partitions=[partition])]
        )
        with Connection("127.0.0.1", self.port) as connection:
            answer = connection.request(request, AlterPartitionReassignmentsResponse)
        assert not answer.error_code, answer

    def wait_in_sync(self, name: str, replicas: Sequence[int]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            found = self._admin.list_topics(name, timeout=PATIENCE_S).topics[name]
            if found.partitions and all(
                set(each.isrs) == set(replicas) and each.leader == replicas[0]
                for each in found.partitions.values()
            ):
                return
            time.sleep(0.005)
        raise RuntimeError(f"{self.name}: {name} is not in sync on {replicas}")


def kafka_pair(libs: Path) -> Target:
    """A broker of Apache Kafka's, to be one of two."""
    return _kafka_node(libs, "Apache Kafka", JAVA)


def odradek_pair(durability: str) -> Target:
    """odradek, to be one of two."""
    alone = odradek(durability)
    options = {
        "process.roles": "broker",
        "node.id": "{node}",
        "cluster.id": CLUSTER_ID,
        "controller.quorum.bootstrap.servers": "127.0.0.1:{controller_port}",
    }
    words = "".join(f" -o {name}={value}" for name, value in options.items())
    return Target(alone.name, alone.command + words)


@contextmanager
def running(target: Target, libs: Path, root: Path) -> Iterator[Pair]:
    """Two of them, in a cluster of their own."""
    small = JAVA.replace("-Xmx1G -Xms1G", "-Xmx256M")
    with ExitStack() as stack:

        def start(target: Target, node: int, controller_port: int) -> Broker:
            values = {"{node}": str(node), "{controller_port}": str(controller_port)}
            command, prepare = target.command, target.prepare
            for name, value in values.items():
                command, prepare = (
                    command.replace(name, value),
                    prepare.replace(name, value),
                )
            folder = root / f"node-{node}"
            folder.mkdir(exist_ok=True)
            made = Broker(
                Target(target.name, command, prepare, target.compiles_late), folder
            )
            stack.callback(made.remove)
            made.start()
            return made

        controller = start(_kafka_node(libs, "controller", small), CONTROLLER, 0)
        brokers = [start(target, node, controller.port) for node in (LEADER, FOLLOWER)]
        yield Pair(*brokers)


def _kafka_node(libs: Path, name: str, java: str) -> Target:
    quoted = shlex.quote(str(libs.resolve()))
    prepare = f"{shlex.quote(sys.executable)} {shlex.quote(__file__)} {quoted}"
    return Target(
        name,
        f"{java} -cp {quoted}/* kafka.Kafka {{data_dir}}.properties",
        f"{prepare} {{port}} {{data_dir}} {{node}} {{controller_port}}",
        compiles_late=True,
    )


def main() -> None:
    libs, port, data_dir, node, controller_port = sys.argv[1:]
    own = _OF_CONTROLLER if int(node) == CONTROLLER else _OF_BROKER + OF_RELEASE
    properties = Path(f"{data_dir}.properties")
    properties.write_text(
        (own + _OF_ALL).format(
            port=port, data_dir=data_dir, node=node, controller_port=controller_port
        )
    )
    tool = ["java", "-cp", f"{libs}/*", "kafka.tools.StorageTool", "format"]
    subprocess.run([*tool, "-t", CLUSTER_ID, "-c", str(properties)], check=True)


if __name__ == "__main__":
    main()

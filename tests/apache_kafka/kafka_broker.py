"""A node of Apache Kafka that is a broker only, in the cluster of another one."""

from collections.abc import Mapping
from pathlib import Path

from odradek.protocol.uuids import random_uuid, to_text
from tests.apache_kafka.node import CLUSTER_ID, KafkaNode
from tests.ports import free_ports


class KafkaBroker(KafkaNode):
    """It has not been started yet."""

    def __init__(
        self,
        root: Path,
        node_id: int,
        controller: KafkaNode,
        options: Mapping[str, str],
    ) -> None:
        self.data_dir = root / f"kafka-{node_id}"
        self.port, self.controller_port = *free_ports(1), controller.controller_port
        self._log_path = root / f"kafka-{node_id}.log"
        self._properties = root / f"kafka-{node_id}.properties"
        self._log_start = 0
        self._process = None
        self.data_dir.mkdir()
        formatted = {
            "version": "1",
            "node.id": str(node_id),
            "cluster.id": CLUSTER_ID,
            "directory.id": to_text(random_uuid()),
        }
        lines = [f"{name}={value}\n" for name, value in formatted.items()]
        (self.data_dir / "meta.properties").write_text("".join(lines))
        self.configure(
            {
                "process.roles": "broker",
                "node.id": str(node_id),
                "controller.quorum.voters": f"1@127.0.0.1:{self.controller_port}",
                "controller.listener.names": "CONTROLLER",
                "listener.security.protocol.map": (
                    "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"
                ),
                "listeners": f"PLAINTEXT://{self.address}",
                "log.dirs": str(self.data_dir),
                "group.initial.rebalance.delay.ms": "0",
                **options,
            }
        )

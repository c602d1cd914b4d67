"""Groups of odradek in the hands of the Java client and of Apache Kafka's tools."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import confluent_kafka
import confluent_kafka.admin
import pytest

from tests.apache_kafka.java_client import Broker, JavaClient
from tests.apache_kafka.node import running_kafka
from tests.broker_process import BrokerProcess, running_broker
from tests.patience import PATIENCE_S
from tests.sampling import sampled

GROUP_TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"


# So that a member that crashed is not missed for long.
OPTIONS = {"group.min.session.timeout.ms": "1000"}
SCENES = (
    "resume",
    "static",
    "cooperative",
    "crash",
    "restart-unnoticed",
    "auto-commit",
    "seek-pause",
)
OFTEN = ("resume", "cooperative", "restart-unnoticed")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    data_dir = tmp_path_factory.mktemp("java-groups") / "data"
    options = [f"-o{name}={value}" for name, value in OPTIONS.items()]
    with running_broker(data_dir, *options) as process:
        yield process
        assert "Traceback" not in process.log()


@pytest.mark.parametrize("scene", sampled(SCENES, *OFTEN))
def test_the_java_client(broker: BrokerProcess, java: JavaClient, scene: str) -> None:
    create_topic(broker, scene)
    java.play("Groups", scene, broker, scene)


@pytest.mark.long
def test_the_scenes_are_those_of_apache_kafka(tmp_path: Path, java: JavaClient) -> None:
    with running_kafka(tmp_path, OPTIONS) as kafka:
        for scene in SCENES:
            # Apache Kafka starts with no topic in its metadata: they rebalance.
            scene = scene.removesuffix("-unnoticed")
            create_topic(kafka, scene)
            java.play("Groups", scene, kafka, scene)


def test_the_console_consumer_and_the_group_tool(
    broker: BrokerProcess, java: JavaClient
) -> None:
    group_tool = GroupTool(java, broker)
    offsets = group_tool.offsets
    create_topic(broker, "t")
    produce(broker, "t", range(40))
    assert read_from_console(java, broker, 40) == {f"{number}" for number in range(40)}
    assert "g" in group_tool("--list").split()
    assert offsets() == {p: ("10", "10", "0") for p in range(4)}
    state = group_tool("--describe", "--state", "--group", "g")
    assert "Empty" in state
    assert "no active members" in group_tool("--describe", "--group", "g")
    produce(broker, "t", range(40, 48))
    assert offsets() == {p: ("10", "12", "2") for p in range(4)}
    assert read_from_console(java, broker, 8) == {
        f"{number}" for number in range(40, 48)
    }
    reset = ("--reset-offsets", "--group", "g", "--topic", "t:1,2", "--to-offset", "4")
    group_tool(*reset, "--execute")
    assert [offsets()[p][0] for p in range(4)] == ["12", "4", "4", "12"]
    group_tool("--delete-offsets", "--group", "g", "--topic", "t:3")
    assert 3 not in {p for p, (at, _, _) in offsets().items() if at != "-"}
    group_tool("--delete", "--group", "g")
    assert "g" not in group_tool("--list").split()


def create_topic(broker: Broker, topic: str, partitions: int = 4) -> None:
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": broker.address})
    wanted = confluent_kafka.admin.NewTopic(topic, partitions, 1)
    admin.create_topics([wanted])[topic].result(PATIENCE_S)


def produce(broker: BrokerProcess, topic: str, numbers: range) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.address})
    for number in numbers:
        producer.produce(topic, b"%d" % number, partition=number % 4)
    assert producer.flush(PATIENCE_S) == 0


def read_from_console(java: JavaClient, broker: Broker, count: int) -> set[str]:
    """What the console consumer prints as the group "g"."""
    where = ["--bootstrap-server", broker.address, "--topic", "t", "--group", "g"]
    printed = java.tool(
        CONSOLE_CONSUMER,
        *where,
        "--from-beginning",
        "--max-messages",
        str(count),
        "--timeout-ms",
        str(PATIENCE_S * 1000),
    )
    return {line for line in printed.splitlines() if line.isdigit()}


class GroupTool(NamedTuple):
    """Apache Kafka's tool for groups."""

    java: JavaClient
    broker: Broker

    def __call__(self, *arguments: str) -> str:
        """What it prints; it must end well."""
        where = ("--bootstrap-server", self.broker.address)
        printed = self.java.tool(GROUP_TOOL, *where, *arguments)
        assert "Error" not in printed, printed
        return printed

    def offsets(self) -> dict[int, tuple[str, str, str]]:
        """By partition: where group "g" is, the log end offset, and the lag."""
        lines = self("--describe", "--group", "g").splitlines()
        rows = [line.split() for line in lines if line.startswith("g ")]
        return {int(row[2]): (row[3], row[4], row[5]) for row in rows}

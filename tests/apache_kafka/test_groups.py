"""Groups of odradek in the hands of the Java client and of Apache Kafka's tools."""

import subprocess
from collections.abc import Iterator

import confluent_kafka
import confluent_kafka.admin
import pytest

from tests.broker_process import BrokerProcess, running_broker

from . import jars

SOURCE = jars.HERE / "java" / "Groups.java"
GROUP_TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    data_dir = tmp_path_factory.mktemp("java-groups") / "data"
    with running_broker(data_dir) as process:
        yield process
        assert "Traceback" not in process.log()


@pytest.mark.parametrize("scene", ["resume", "static", "cooperative"])
def test_the_java_client(broker: BrokerProcess, scene: str) -> None:
    create_topic(broker, scene)
    printed = jars.run_tool(str(SOURCE), scene, broker.address, scene)
    assert "all of it holds" in printed


def test_the_console_consumer_and_the_group_tool(broker: BrokerProcess) -> None:
    create_topic(broker, "t")
    produce(broker, "t", range(40))
    assert read_from_console(broker, 40) == {f"{number}" for number in range(40)}
    assert "g" in group_tool(broker, "--list").split()
    assert offsets(broker) == {p: ("10", "10", "0") for p in range(4)}
    state = group_tool(broker, "--describe", "--state", "--group", "g")
    assert "Empty" in state
    assert "no active members" in group_tool(broker, "--describe", "--group", "g")
    produce(broker, "t", range(40, 48))
    assert offsets(broker) == {p: ("10", "12", "2") for p in range(4)}
    assert read_from_console(broker, 8) == {f"{number}" for number in range(40, 48)}
    reset = ("--reset-offsets", "--group", "g", "--topic", "t:1,2", "--to-offset", "4")
    group_tool(broker, *reset, "--execute")
    assert [offsets(broker)[p][0] for p in range(4)] == ["12", "4", "4", "12"]
    group_tool(broker, "--delete-offsets", "--group", "g", "--topic", "t:3")
    assert 3 not in {p for p, (at, _, _) in offsets(broker).items() if at != "-"}
    group_tool(broker, "--delete", "--group", "g")
    assert "g" not in group_tool(broker, "--list").split()


def create_topic(broker: BrokerProcess, topic: str) -> None:
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": broker.address})
    wanted = confluent_kafka.admin.NewTopic(topic, 4, 1)
    admin.create_topics([wanted])[topic].result(30)


def produce(broker: BrokerProcess, topic: str, numbers: range) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.address})
    for number in numbers:
        producer.produce(topic, b"%d" % number, partition=number % 4)
    assert producer.flush(30) == 0


def read_from_console(broker: BrokerProcess, count: int) -> set[str]:
    """What the console consumer prints as the group "g"."""
    where = ["--bootstrap-server", broker.address, "--topic", "t", "--group", "g"]
    printed = jars.run_tool(
        CONSOLE_CONSUMER,
        *where,
        "--from-beginning",
        "--max-messages",
        str(count),
        "--timeout-ms",
        "60000",
    )
    return {line for line in printed.splitlines() if line.isdigit()}


def group_tool(broker: BrokerProcess, *arguments: str) -> str:
    """What it prints, on either stream; it must end well."""
    command = jars.java(GROUP_TOOL, "--bootstrap-server", broker.address, *arguments)
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "Error" not in run.stdout, run.stdout
    return run.stdout + "".join(
        line + "\n" for line in run.stderr.splitlines() if "no active" in line
    )


def offsets(broker: BrokerProcess) -> dict[int, tuple[str, str, str]]:
    """By partition: where the group is, the log end offset, and the lag."""
    lines = group_tool(broker, "--describe", "--group", "g").splitlines()
    rows = [line.split() for line in lines if line.startswith("g ")]
    return {int(row[2]): (row[3], row[4], row[5]) for row in rows}

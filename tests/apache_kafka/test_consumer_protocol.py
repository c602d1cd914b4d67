"""Groups of the consumer protocol (KIP-848), with the Java client and Kafka's tools."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apache_kafka.java_client import JavaClient
from tests.apache_kafka.node import running_kafka
from tests.apache_kafka.test_groups import CONSOLE_CONSUMER, GROUP_TOOL, create_topic
from tests.apache_kafka.test_groups import produce as produce_to
from tests.broker_process import BrokerProcess, running_broker
from tests.sampling import sampled

ALL_GROUPS = "org.apache.kafka.tools.GroupsCommand"
# So that members are heard often, and not missed for long.
OPTIONS = {
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.session.timeout.ms": "2000",
    "group.consumer.min.session.timeout.ms": "2000",
    "group.consumer.assignment.interval.ms": "0",
}
PATIENT = {**OPTIONS, "group.consumer.session.timeout.ms": "45000"}
SCENES = ("resume", "static", "cooperative", "crash", "auto-commit", "seek-pause")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    data_dir = tmp_path_factory.mktemp("java-consumer-protocol") / "data"
    options = [f"-o{name}={value}" for name, value in OPTIONS.items()]
    with running_broker(data_dir, *options) as process:
        yield process
        assert "Traceback" not in process.log()


@pytest.mark.parametrize("scene", sampled(SCENES, "resume", "static"))
def test_g012_the_java_client(
    broker: BrokerProcess, java: JavaClient, scene: str
) -> None:
    create_topic(broker, scene)
    java.play("AssignedGroups", scene, broker, scene)


def test_g010_it_goes_on_when_the_broker_was_killed(
    tmp_path: Path, java: JavaClient
) -> None:
    options = [f"-o{name}={value}" for name, value in PATIENT.items()]
    with running_broker(tmp_path / "data", *options) as broker:
        create_topic(broker, "restart")
        java.play("AssignedGroups", "restart-unnoticed", broker, "restart")


@pytest.mark.parametrize(
    "scene", sampled(["migration", "migration-cooperative"], "migration-cooperative")
)
def test_g011_members_change_one_by_one_and_back(
    broker: BrokerProcess, java: JavaClient, scene: str
) -> None:
    create_topic(broker, scene)
    java.play("Groups", scene, broker, scene)


@pytest.mark.long
def test_the_scenes_are_those_of_apache_kafka(tmp_path: Path, java: JavaClient) -> None:
    with running_kafka(tmp_path, OPTIONS) as kafka:
        for scene in SCENES:
            create_topic(kafka, scene)
            java.play("AssignedGroups", scene, kafka, scene)


def test_the_tools_show_what_such_groups_are(
    broker: BrokerProcess, java: JavaClient
) -> None:
    there = ("--bootstrap-server", broker.address)
    create_topic(broker, "shown")
    produce_to(broker, "shown", range(40))
    protocol = ("--command-property", "group.protocol=consumer")
    some = ("--topic", "shown", "--from-beginning", "--max-messages", "40")
    read = java.tool(CONSOLE_CONSUMER, *there, *some, "--group", "g", *protocol)
    assert "Processed a total of 40 messages" in read
    listed = java.tool(ALL_GROUPS, *there, "--list", "--group-type", "consumer")
    (line,) = [each for each in listed.splitlines() if each.split()[0] == "g"]
    assert line.split() == ["g", "Consumer", "consumer"]
    state = java.tool(GROUP_TOOL, *there, "--describe", "--state", "--group", "g")
    assert state.split()[-2:] == ["Empty", "0"], state
    described = java.tool(GROUP_TOOL, *there, "--describe", "--group", "g")
    assert "has no active members" in described
    assert described.count(" 10 ") == 8, "committed, and the end, of each partition"
    reset = ("--reset-offsets", "--to-earliest", "--execute", "--topic", "shown")
    java.tool(GROUP_TOOL, *there, "--group", "g", *reset)
    described = java.tool(GROUP_TOOL, *there, "--describe", "--group", "g")
    assert described.count(" 10 ") == 8
    deleted = java.tool(GROUP_TOOL, *there, "--delete", "--group", "g")
    assert "successful" in deleted

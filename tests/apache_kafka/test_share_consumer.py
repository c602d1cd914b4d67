"""Share groups (KIP-932), with the Java client's share consumers."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from odradek.testing import Broker
from tests.apache_kafka.java_client import JavaClient
from tests.apache_kafka.node import running_kafka
from tests.apache_kafka.test_groups import create_topic
from tests.apache_kafka.test_groups import produce as produce_to
from tests.broker_process import BrokerProcess, running_broker
from tests.sampling import sampled

CONSOLE_SHARE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
CONFIGS = "kafka.admin.ConfigCommand"
# So that members are not waited for long, and no lock ends that is not meant to.
OPTIONS = {
    "group.share.heartbeat.interval.ms": "200",
    "group.share.min.heartbeat.interval.ms": "200",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.max.record.lock.duration.ms": "3600000",
    "group.share.record.lock.duration.ms": "3600000",
}
# And in how many partitions.
SCENES = {"accept": 4, "release": 4, "close": 4, "limit": 4, "aborted": 4, "locks": 1}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    data_dir = tmp_path_factory.mktemp("java-share-consumer") / "data"
    options = [f"-o{name}={value}" for name, value in OPTIONS.items()]
    with running_broker(data_dir, *options) as process:
        yield process
        assert "Traceback" not in process.log()


@pytest.mark.parametrize("scene", sampled(SCENES, "accept", "locks"))
def test_g030_the_java_client(
    broker: BrokerProcess, java: JavaClient, scene: str
) -> None:
    create_topic(broker, f"share-{scene}", SCENES[scene])
    java.play("Shares", scene, broker, f"share-{scene}")


def test_g030_locks_are_renewed(java: JavaClient) -> None:
    """They last for an hour, and time is moved."""
    with Broker(OPTIONS) as broker:
        topic = broker.topic("share-renew")
        deeds = {"later": lambda: broker.clock.advance(timedelta(minutes=40))}
        java.play_at(broker.bootstrap, "Shares", "renew", topic, deeds)


def test_g022_what_was_accepted_never_comes_again(
    tmp_path: Path, java: JavaClient
) -> None:
    options = [f"-o{name}={value}" for name, value in OPTIONS.items()]
    with running_broker(tmp_path / "data", *options) as broker:
        create_topic(broker, "share-restart")
        java.play("Shares", "restart", broker, "share-restart")


@pytest.mark.long
def test_the_scenes_are_those_of_apache_kafka(tmp_path: Path, java: JavaClient) -> None:
    with running_kafka(tmp_path, OPTIONS) as kafka:
        for scene in SCENES:
            create_topic(kafka, f"share-{scene}", SCENES[scene])
            java.play("Shares", scene, kafka, f"share-{scene}")


def test_g029_the_console_share_consumer(
    broker: BrokerProcess, java: JavaClient
) -> None:
    create_topic(broker, "console")
    produce_to(broker, "console", range(40))
    there = ("--bootstrap-server", broker.address)
    option = "share.auto.offset.reset=earliest"
    group = ("--entity-type", "groups", "--entity-name", "workers")
    java.tool(CONFIGS, *there, "--alter", *group, "--add-config", option)
    some = ("--topic", "console", "--group", "workers", "--max-messages", "40")
    read = java.tool(CONSOLE_SHARE_CONSUMER, *there, *some)
    assert "Processed a total of 40 messages" in read
    values = [int(line) for line in read.splitlines() if line.isdigit()]
    assert sorted(values) == list(range(40))

"""Transactions of odradek in the hands of the Java client and of Kafka's own tools."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apache_kafka.java_client import Broker, JavaClient
from tests.apache_kafka.node import running_kafka
from tests.apache_kafka.test_groups import create_topic
from tests.broker_process import BrokerProcess, running_broker

# So that a transaction that takes too long is soon aborted.
OPTIONS = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
VERSION_1, VERSION_2 = "-otransaction.version=1", "-otransaction.version=2"
SCENES = (
    "commit-abort",
    "interleaved",
    "many",
    "transform",
    "stale-member",
    "fencing",
    "timeout",
    "error",
    "deleted-topic",
    "restart",
    "exactly-once",
)


# The second version is that of today's clients; of the first, what it does otherwise.
OFTEN = {
    1: ("commit-abort",),
    2: ("commit-abort", "interleaved", "fencing", "stale-member"),
}
PLAYED = [
    pytest.param(
        version,
        scene,
        id=f"version-{number}-{scene}",
        marks=[] if scene in OFTEN[number] else [pytest.mark.long],
    )
    for number, version in ((1, VERSION_1), (2, VERSION_2))
    for scene in SCENES
]


@pytest.fixture(
    scope="module", params=[VERSION_1, VERSION_2], ids=["version-1", "version-2"]
)
def broker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrokerProcess]:
    data_dir = tmp_path_factory.mktemp("java-transactions") / "data"
    options = [f"-o{name}={value}" for name, value in OPTIONS.items()]
    options.append(request.param)
    with running_broker(data_dir, *options) as process:
        yield process
        assert "Traceback" not in process.log()


@pytest.mark.parametrize(("broker", "scene"), PLAYED, indirect=["broker"])
def test_the_java_client(broker: BrokerProcess, java: JavaClient, scene: str) -> None:
    play(java, scene, broker)


def test_the_version_changes_under_open_transactions(
    broker: BrokerProcess, java: JavaClient
) -> None:
    """Begun in one version, with a broker that has been restarted for the other."""
    create_topic(broker, "changing")
    java.play("Transactions", "restart", Changing(broker), "changing")


class Changing:
    """A broker that finalises the other version whenever it starts again."""

    def __init__(self, broker: BrokerProcess) -> None:
        self._broker = broker
        self.port, self.address = broker.port, broker.address

    def kill(self) -> None:
        self._broker.kill()

    def start(self) -> None:
        options = self._broker.options
        options[-1] = VERSION_1 if options[-1] == VERSION_2 else VERSION_2
        self._broker.start()


@pytest.mark.long
@pytest.mark.parametrize("version", [1, 2])
def test_the_scenes_are_those_of_apache_kafka(
    tmp_path: Path, java: JavaClient, version: int
) -> None:
    features = {"transaction.version": version}
    with running_kafka(tmp_path, OPTIONS, features) as kafka:
        for scene in SCENES:
            play(java, scene, kafka)


def play(java: JavaClient, scene: str, broker: Broker) -> None:
    create_topic(broker, scene)
    java.play("Transactions", scene, broker, scene)

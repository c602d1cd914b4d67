"""``odradek cluster describe`` and the observer, of an Apache Kafka that runs."""

import json
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from odradek.broker.cli.main import main
from odradek.broker.quorum.image.image import MetadataImage, OptionResource
from odradek.broker.quorum.image.replay import Replay
from odradek.broker.quorum.observer import Observer
from odradek.broker.quorum.quorum_reader import QuorumReader
from odradek.client.address import Address
from odradek.client.connection import Connection
from tests.apache_kafka.both_brokers import BothBrokers
from tests.apache_kafka.node import CLUSTER_ID, KafkaNode
from tests.patience import PATIENCE_S

OPTIONS = {"retention.ms": "77000", "cleanup.policy": "compact"}


@pytest.fixture(scope="module")
def node(both: BothBrokers) -> KafkaNode:
    assert isinstance(both.kafka, KafkaNode)
    admin = AdminClient({"bootstrap.servers": both.kafka.address})
    topics = [
        NewTopic("observed", 3, 1, config=OPTIONS),
        NewTopic("observed-gone", 1, 1, config=OPTIONS),
    ]
    for made in admin.create_topics(topics).values():
        made.result(PATIENCE_S)
    admin.delete_topics(["observed-gone"])["observed-gone"].result(PATIENCE_S)
    both.kafka.settle()
    return both.kafka


def observed(node: KafkaNode) -> MetadataImage:
    def connect(address: Address) -> Connection:
        return Connection(*address, timeout_s=PATIENCE_S)

    bootstrap = [Address("127.0.0.1", node.controller_port)]
    observer = Observer(bootstrap, Replay())
    with QuorumReader(observer, connect) as reader:
        reader.catch_up(PATIENCE_S)
    return observer.replay.image


def described(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["cluster", "describe", *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_image_is_what_the_broker_says(node: KafkaNode) -> None:
    image = observed(node)
    admin = AdminClient({"bootstrap.servers": node.address})
    topics = admin.list_topics(timeout=PATIENCE_S).topics
    assert {*image.topic_ids} == {*topics}
    for topic, number, partition in image.partitions():
        told = topics[topic.name].partitions[number]
        assert (partition.leader, [*partition.isr], [*partition.replicas]) == (
            *(told.leader, told.isrs),
            told.replicas,
        )
    resource = ConfigResource(ResourceType.TOPIC, "observed")
    options = admin.describe_configs([resource])[resource].result(PATIENCE_S)
    set_here = {
        name: entry.value for name, entry in options.items() if entry.source == 1
    }
    assert image.options[OptionResource(2, "observed")] == OPTIONS == set_here
    assert OptionResource(2, "observed-gone") not in image.options
    (broker,) = image.brokers.values()
    assert not broker.is_fenced
    assert broker.endpoints[0].port == node.port


def test_a_broker_a_controller_and_the_disk_say_the_same(
    node: KafkaNode, capsys: pytest.CaptureFixture[str]
) -> None:
    by_broker = described(capsys, "--bootstrap-server", node.address)
    controller = f"127.0.0.1:{node.controller_port}"
    by_controller = described(capsys, "--bootstrap-controller", controller)
    on_disk = described(capsys, "--directory", str(node.data_dir))
    assert by_broker["clusterId"] == CLUSTER_ID
    for found in (by_controller, on_disk):
        same = ("clusterId", "brokers", "topics", "offline", "underReplicated")
        for key in same:
            assert found[key] == by_broker[key], key
        levels, theirs = (
            {each["feature"]: each["level"] for each in shown["features"]}
            for shown in (found, by_broker)
        )
        assert levels == theirs
    assert by_broker["quorum"]["nodes"][0]["role"] == "leader"
    assert by_controller["quorum"]["leader"] == by_broker["quorum"]["leader"] == 1

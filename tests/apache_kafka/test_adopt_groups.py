"""G013: groups of the consumer protocol move from Apache Kafka to odradek and back."""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import admin

from odradek.client.address import Address
from odradek.client.cluster import Cluster
from odradek.client.group_offsets import committed_offsets
from odradek.client.groups import GroupDescription, describe_group
from odradek.protocol.topic_partition import TopicPartition
from tests.apache_kafka.node import KafkaNode
from tests.broker_process import running_broker
from tests.patience import PATIENCE_S

GROUP, TOPIC, PARTITIONS = "assigned", "numbers", 4
COUNT = 40


def cluster_of(address: str) -> Cluster:
    host, _, port = address.partition(":")
    return Cluster([Address(host, int(port))])


def described(address: str) -> GroupDescription:
    with cluster_of(address) as cluster:
        return describe_group(cluster, GROUP)


def committed(address: str) -> dict[TopicPartition, int]:
    with cluster_of(address) as cluster:
        found = committed_offsets(cluster, GROUP)
    return {place: each.offset for place, each in found.items()}


def produce(address: str, numbers: range) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": address})
    for number in numbers:
        producer.produce(TOPIC, b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0


def read(address: str, count: int) -> tuple[set[int], list[int]]:
    """What a static member is assigned, and the numbers that it reads there.

    It commits them, and leaves for a while.
    """
    options: dict[str, Any] = {
        "bootstrap.servers": address,
        "group.id": GROUP,
        "group.protocol": "consumer",
        "group.instance.id": "one",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    consumer = confluent_kafka.Consumer(options)
    consumer.subscribe([TOPIC])
    values: list[int] = []
    deadline = time.monotonic() + PATIENCE_S
    try:
        while len(values) < count:
            assert time.monotonic() < deadline, values
            for message in consumer.consume(count - len(values), 0.2):
                assert message.error() is None, message.error()
                values.append(int(message.value()))
        assigned = {each.partition for each in consumer.assignment()}
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return assigned, sorted(values)


@pytest.mark.long
def test_members_and_offsets_go_there_and_back(tmp_path: Path) -> None:
    node = KafkaNode(tmp_path)
    node.start()
    everything = set(range(PARTITIONS))
    try:
        client = admin.AdminClient({"bootstrap.servers": node.address})
        wanted = admin.NewTopic(TOPIC, PARTITIONS, 1)
        client.create_topics([wanted])[TOPIC].result(PATIENCE_S)
        produce(node.address, range(COUNT))
        assert read(node.address, COUNT) == (everything, list(range(COUNT)))
        before, offsets = described(node.address), committed(node.address)
        assert before.state == "Reconciling", "it has left for a while"
        node.stop()
        command = [sys.executable, "-m", "odradek", "adopt", str(node.data_dir)]
        subprocess.run(command, check=True, capture_output=True)
        with running_broker(node.data_dir) as broker:
            ours = described(broker.address)
            assert ours._replace(coordinator=before.coordinator) == before
            assert committed(broker.address) == offsets
            produce(broker.address, range(COUNT, 2 * COUNT))
            found = read(broker.address, COUNT)
            assert found == (everything, list(range(COUNT, 2 * COUNT)))
            ours, offsets = described(broker.address), committed(broker.address)
            assert sum(offsets.values()) == 2 * COUNT
            assert "Traceback" not in broker.log()
            broker.terminate()
        node.start()
        theirs = described(node.address)
        assert theirs._replace(coordinator=ours.coordinator) == ours
        assert committed(node.address) == offsets
        produce(node.address, range(2 * COUNT, 3 * COUNT))
        found = read(node.address, COUNT)
        assert found == (everything, list(range(2 * COUNT, 3 * COUNT)))
    finally:
        node.kill()

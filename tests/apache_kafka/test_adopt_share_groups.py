"""G013: share groups move from Apache Kafka to odradek and back, with their places."""

import subprocess
import sys
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka import admin

from tests.apache_kafka.node import KafkaNode
from tests.broker_process import running_broker
from tests.patience import PATIENCE_S
from tests.share_member import (
    ACCEPT,
    RELEASE,
    Place,
    ShareAdmin,
    ShareMember,
    Taken,
)

GROUP, TOPIC, PARTITIONS = "sharers", "tasks", 2
OPTIONS = {"share.coordinator.state.topic.num.partitions": "3"}


def produce(address: str, count: int) -> None:
    """So many records into each partition, as one batch."""
    producer = confluent_kafka.Producer({"bootstrap.servers": address})
    for number in range(count * PARTITIONS):
        producer.produce(TOPIC, b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0


def member(address: str) -> ShareMember:
    return ShareMember(address, GROUP, TOPIC)


def offsets(taken: list[Taken], partition: int) -> dict[int, int]:
    """Each offset of a partition that was given, with its delivery count."""
    return {
        offset: each.delivery_count
        for each in taken
        if each.partition == partition
        for offset in range(each.first, each.last + 1)
    }


def begin(address: str) -> None:
    """5 of 10 records are accepted in one partition, and all in the other."""
    with ShareAdmin(address, GROUP) as group:
        group.configure(share_auto_offset_reset="earliest")
    with member(address) as sharer:
        sharer.join(PARTITIONS)
        taken = sharer.fetch_until(20)
        assert offsets(taken, 0) == dict.fromkeys(range(10), 1)
        sharer.acknowledge(0, (0, 4, ACCEPT), (5, 6, RELEASE))
        sharer.acknowledge(1, (0, 9, ACCEPT))
        sharer.leave()


@pytest.mark.long
def test_places_go_there_and_back(tmp_path: Path) -> None:
    node = KafkaNode(tmp_path, OPTIONS)
    node.start()
    try:
        client = admin.AdminClient({"bootstrap.servers": node.address})
        wanted = admin.NewTopic(TOPIC, PARTITIONS, 1)
        client.create_topics([wanted])[TOPIC].result(PATIENCE_S)
        produce(node.address, 10)
        begin(node.address)
        with ShareAdmin(node.address, GROUP) as group:
            group.wait_for({0: Place(5, 5), 1: Place(0, 0)})
            before, places = group.describe(), group.places()
        assert before.group_state == "Empty"
        node.stop()
        command = [sys.executable, "-m", "odradek", "adopt", str(node.data_dir)]
        subprocess.run(command, check=True, capture_output=True)
        with running_broker(node.data_dir) as broker:
            with ShareAdmin(broker.address, GROUP) as group:
                assert (group.describe(), group.places()) == (before, places)
            with member(broker.address) as sharer:
                sharer.join(PARTITIONS)
                taken = sharer.fetch_until(5)
                # Released, and given up when the session ended: both were tried once.
                assert offsets(taken, 0) == dict.fromkeys(range(5, 10), 2)
                sharer.acknowledge(0, (5, 7, ACCEPT))
                sharer.leave()
            with ShareAdmin(broker.address, GROUP) as group:
                group.move(TOPIC, {1: 3})
                group.wait_for({0: Place(8, 2), 1: Place(3, 7)})
                ours, places = group.describe(), group.places()
            assert "Traceback" not in broker.log()
            broker.terminate()
        node.start()
        with ShareAdmin(node.address, GROUP) as group:
            assert (group.describe(), group.places()) == (ours, places)
        with member(node.address) as sharer:
            sharer.join(PARTITIONS)
            taken = sharer.fetch_until(9)
            assert offsets(taken, 0) == {8: 3, 9: 3}
            assert offsets(taken, 1) == dict.fromkeys(range(3, 10), 1)
            sharer.leave()
    finally:
        node.kill()

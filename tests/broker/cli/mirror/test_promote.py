"""From the first look to the end, with real brokers on both sides."""

import pytest

from odradek.client.cluster import Cluster
from odradek.client.configs import (
    ConfigChange,
    ConfigResource,
    ConfigResourceType,
    Operation,
    alter_configs,
)
from odradek.client.group_offsets import commit_offsets, committed_offsets
from odradek.client.records_deletion import delete_records
from odradek.client.topics import create_partitions, delete_topic
from odradek.protocol.errors import PolicyViolation
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.cli.mirror.conftest import Pair, log_of
from tests.client.live import create_topic, produce, wait_until

PLACE = TopicPartition("orders", 0)


def test_a_topic_is_copied_taken_over_and_goes_on_after_a_kill(
    pair: Pair, there: Cluster, here: Cluster
) -> None:
    create_topic(there, "orders", 1)
    produce(there, "orders", 0, [1, 2, 3])
    commit_offsets(there, "g", {PLACE: 2})
    said = pair.run("add", "old", "--from", pair.source.address, "--topics", "ord.*")
    assert said.startswith("mirror old: topics ord.* of cluster ")
    wait_until(lambda: pair.lag("old") == 0)
    wait_until(lambda: PLACE in committed_offsets(here, "g"))
    assert committed_offsets(here, "g")[PLACE].offset == 2
    pair.ours.kill()
    produce(there, "orders", 0, [4, 5])
    pair.ours.start()
    here.close()
    wait_until(lambda: pair.lag("old") == 0)
    assert log_of(pair.ours, "orders") == log_of(pair.source, "orders")
    refuse_changes(here)
    assert pair.items("promote", "old") == [{"topic": "orders", "ends": [5]}]
    produce(here, "orders", 0, [6])
    assert pair.run("promote", "old", code=1).endswith("mirror old follows no topics\n")
    assert pair.run("remove", "old") == "mirror old: removed\n"
    assert pair.run("status") == "no mirrors\n"


def refuse_changes(here: Cluster) -> None:
    """The copy takes no writes of clients, nor changes of what follows the source."""
    with pytest.raises(PolicyViolation):
        produce(here, "orders", 0, [9])
    with pytest.raises(PolicyViolation):
        delete_topic(here, "orders")
    with pytest.raises(PolicyViolation):
        create_partitions(here, "orders", 3)
    refused = delete_records(here, {PLACE: 1}).failed
    assert isinstance(refused[PLACE], PolicyViolation)
    change = ConfigChange(Operation.SET, "retention.ms", "1000")
    resource = ConfigResource(ConfigResourceType.TOPIC, "orders")
    with pytest.raises(PolicyViolation):
        alter_configs(here, resource, [change])

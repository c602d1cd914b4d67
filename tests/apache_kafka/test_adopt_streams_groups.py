"""Streams groups move from Apache Kafka to odradek and back, with members and all."""

import subprocess
import sys
from pathlib import Path

import pytest

from odradek.client.cluster import Cluster
from odradek.client.errors import raise_for
from odradek.client.group_offsets import commit_offsets, committed_offsets
from odradek.client.metadata import Broker
from odradek.protocol.messages.configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from odradek.protocol.messages.streams_groups import (
    DescribedStreamsGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.apache_kafka.node import KafkaNode
from tests.broker_process import running_broker
from tests.client.live import connected, create_topic
from tests.streams_member import StreamsMember, beat_until

GROUP, SOURCE = "adopted", "adopted-lines"
GROUP_RESOURCE, SET = 32, 0
OWN = {
    "streams.initial.rebalance.delay.ms": "0",
    "streams.assignment.interval.ms": "0",
    "streams.num.standby.replicas": "1",
}
COMMITTED = {TopicPartition(SOURCE, 0): 3, TopicPartition(SOURCE, 1): 5}


def configure(cluster: Cluster) -> None:
    configs = [
        AlterableConfig(name=name, config_operation=SET, value=value)
        for name, value in OWN.items()
    ]
    resource = AlterConfigsResource(
        resource_type=GROUP_RESOURCE, resource_name=GROUP, configs=configs
    )
    told = cluster.request(
        IncrementalAlterConfigsRequest(resources=[resource]),
        IncrementalAlterConfigsResponse,
    )
    assert not told.responses[0].error_code


def described(cluster: Cluster) -> DescribedStreamsGroup:
    request = StreamsGroupDescribeRequest(group_ids=[GROUP])

    def ask(coordinator: Broker) -> DescribedStreamsGroup:
        node_id = coordinator.node_id
        told = cluster.request(request, StreamsGroupDescribeResponse, node_id)
        (group,) = told.groups
        raise_for(group.error_code, group.error_message)
        return group

    group = cluster.at_coordinator(GROUP, ask)
    group.members.sort(key=lambda each: each.member_id)
    # How many partitions they have is found out with the first heartbeat after a start.
    assert group.topology is not None
    for part in group.topology.subtopologies or ():
        for topic in (*part.repartition_source_topics, *part.state_changelog_topics):
            topic.partitions = 0
    return group


def settle(*members: StreamsMember) -> None:
    """Until each has two active tasks, and follows the state of one."""
    beat_until(
        lambda: all(
            sum(map(len, each.active.values())) == 2
            and sum(map(len, each.standby.values())) == 1
            for each in members
        ),
        *members,
    )


def keep_on(cluster: Cluster, *members: StreamsMember) -> None:
    """At another broker, with the epochs and tasks that they have.

    The group goes on to another epoch: each broker knows topics by hashes of its own.
    """
    had = [(each.active, each.standby) for each in members]
    for each in members:
        each.move_to(cluster)
        each.beat()
    settle(*members)
    assert [(each.active, each.standby) for each in members] == had


@pytest.mark.long
def test_members_tasks_and_offsets_go_there_and_back(tmp_path: Path) -> None:
    node = KafkaNode(tmp_path, {})
    node.start()
    try:
        with connected(node.port) as cluster:
            configure(cluster)
            create_topic(cluster, SOURCE, 2)
            commit_offsets(cluster, GROUP, COMMITTED)
            one = StreamsMember(cluster, GROUP, "one")
            two = StreamsMember(cluster, GROUP, "two")
            for each in (one, two):
                each.join(SOURCE)
            settle(one, two)
            before = described(cluster)
            assert before.group_state == "Stable"
        node.stop()
        command = [sys.executable, "-m", "odradek", "adopt", str(node.data_dir)]
        subprocess.run(command, check=True, capture_output=True)
        with (
            running_broker(node.data_dir) as broker,
            connected(broker.port) as cluster,
        ):
            assert described(cluster) == before
            keep_on(cluster, one, two)
            two.leave()
            three = StreamsMember(cluster, GROUP, "three")
            three.join(SOURCE)
            settle(one, three)
            ours = described(cluster)
            assert ours.group_epoch > before.group_epoch
            found = committed_offsets(cluster, GROUP)
            assert {key: each.offset for key, each in found.items()} == COMMITTED
            assert "Traceback" not in broker.log()
            broker.terminate()
        node.start()
        with connected(node.port) as cluster:
            assert described(cluster) == ours
            keep_on(cluster, one, three)
            for each in (one, three):
                each.leave()
            found = committed_offsets(cluster, GROUP)
            assert {key: each.offset for key, each in found.items()} == COMMITTED
    finally:
        node.kill()

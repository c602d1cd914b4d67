"""Where a group is, whichever type it is of; of share groups all the commands."""

import pytest

from odradek.broker.cli.group.positions import positions_of, type_of
from odradek.client.cluster import Cluster
from odradek.client.group_offsets import commit_offsets
from odradek.client.metadata import Broker
from odradek.client.share_groups import move_share_group
from odradek.protocol.errors import UnknownTopicOrPartition
from odradek.protocol.messages.share_groups import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.cli.conftest import Shell
from tests.client.live import create_topic, produce


def beat(cluster: Cluster, group_id: str, topic: str, epoch: int) -> None:
    """A member joins (0), or leaves (-1)."""
    request = ShareGroupHeartbeatRequest(
        group_id=group_id,
        member_id="member",
        member_epoch=epoch,
        subscribed_topic_names=[topic],
    )

    def ask(coordinator: Broker) -> ShareGroupHeartbeatResponse:
        return cluster.request(
            request, ShareGroupHeartbeatResponse, coordinator.node_id
        )

    assert cluster.at_coordinator(group_id, ask).error_code == 0


@pytest.fixture
def sharing(cluster: Cluster, request: pytest.FixtureRequest) -> str:
    """The name of a share group, and of its topic of 2 partitions and 10 records."""
    name = request.node.name.replace("_", "-").removeprefix("test-")
    create_topic(cluster, name, 2)
    produce(cluster, name, 0, range(10))
    beat(cluster, name, name, 0)
    return name


def test_of_who_commits(cluster: Cluster) -> None:
    create_topic(cluster, "commits", 1)
    place = TopicPartition("commits", 0)
    assert type_of(cluster, "commits") == "classic"
    commit_offsets(cluster, "commits", {place: 0})
    assert type_of(cluster, "commits") == "classic"
    positions = positions_of(cluster, "commits", "classic")
    assert positions.known() == {place: 0}
    assert positions.set({place: 0}) == {}
    assert positions.forget([place]) == {}
    assert positions.known() == {}


def test_of_who_shares(cluster: Cluster, sharing: str) -> None:
    beat(cluster, sharing, sharing, -1)
    zero, one, missing = (TopicPartition(sharing, number) for number in (0, 1, 9))
    assert type_of(cluster, sharing) == "share"
    positions = positions_of(cluster, sharing, "share")
    assert positions.known() == {}
    refused = positions.set({zero: 4, missing: 0})
    assert list(refused) == [missing]
    assert isinstance(refused[missing], UnknownTopicOrPartition)
    assert positions.known() == {zero: 4}
    assert positions.forget([zero, one]) == {}
    assert positions.known() == {}
    assert list(positions.forget([zero])) == [zero]


def test_a_share_group_is_described(
    cluster: Cluster, shell: Shell, sharing: str
) -> None:
    title, head, *rows, total = shell.group("describe", sharing)
    assert title.startswith(
        f"group {sharing}: Stable, share, assignor simple, epoch 3, 1 member, "
    )
    assert head.split() == [
        "TOPIC",
        "PARTITION",
        "START-OFFSET",
        "LOG-END-OFFSET",
        "LAG",
        "#MEMBERS",
    ]
    assert [row.split() for row in rows] == [
        [sharing, "0", "-", "10", "-", "1"],
        [sharing, "1", "-", "0", "-", "1"],
    ]
    assert total == "total lag: 0"
    _, _, row = shell.group("describe", sharing, "--members")
    assert row.split()[-2:] == ["2", f"{sharing}:0,1"]
    (group,) = shell.json("describe", sharing)
    assert (group["type"], group["epoch"]) == ("share", 3)
    assert group["members"][0]["epoch"] == 3
    listed = [row.split() for row in shell.group("list", "--type", "share")]
    assert [sharing, "share", "share", "Stable"] in listed


def test_a_share_group_is_reset(cluster: Cluster, shell: Shell, sharing: str) -> None:
    asked = ("reset-offsets", sharing, "--to-offset", "6", "--topic", f"{sharing}:0")
    assert shell.group(*asked, "--execute", code=1) == []
    assert "the group has 1 member and is Stable: stop them first" in shell.error
    beat(cluster, sharing, sharing, -1)
    _, row, last = shell.group(*asked, "--execute")
    assert row.split() == [sharing, "0", "-", "6"]
    assert last == "1 offset was set"
    _, row, last = shell.group(
        "reset-offsets", sharing, "--shift-by", "-2", "--all-topics"
    )
    assert row.split() == [sharing, "0", "6", "4"]
    assert last.startswith("nothing was changed")
    _, _, row, *_ = shell.group("describe", sharing)
    assert row.split()[:5] == [sharing, "0", "6", "10", "4"]


def test_a_share_group_forgets_topics_and_goes(
    cluster: Cluster, shell: Shell, sharing: str
) -> None:
    beat(cluster, sharing, sharing, -1)
    move_share_group(cluster, sharing, {TopicPartition(sharing, 0): 4})
    assert (
        shell.group("delete-offsets", sharing, "--topic", f"{sharing}:0", code=1) == []
    )
    assert "a share group forgets whole topics: name no partitions" in shell.error
    first, second = shell.group("delete-offsets", sharing, "--topic", sharing)
    assert first == f"{sharing}-0: forgotten (was 4)"
    assert second == f"{sharing}-1: forgotten (nothing was committed)"
    assert shell.group("delete", sharing) == [f"{sharing}: deleted"]
    assert shell.group("describe", sharing, code=1) == []

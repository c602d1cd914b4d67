from typing import Any

from odradek.broker.coordinator.group.consumer.describe import (
    decide_describe_consumer_group,
)
from odradek.protocol.errors import GroupIdNotFound
from tests.broker.coordinator.group.consumer.rig import GROUP, ConsumerGroups


def described(groups: ConsumerGroups, group_id: str = GROUP) -> Any:
    return groups.decide(lambda shard: decide_describe_consumer_group(shard, group_id))


def partitions(assignment: Any) -> dict[str, list[int]]:
    return {each.topic_name: each.partitions for each in assignment.topic_partitions}


def test_what_members_have_and_shall_have() -> None:
    groups = ConsumerGroups(t=4)
    groups.join("a", instance="i", rack_id="r")
    groups.join("b", names=["t", "u"], server_assignor="range")
    groups.beat_as("a", instance="i")
    found = described(groups)
    assert (found.error_code, found.group_state) == (0, "Reconciling")
    assert (found.group_epoch, found.assignment_epoch) == (3, 3)
    assert found.assignor_name == "range"
    first, second = found.members
    assert (first.member_id, first.instance_id, first.rack_id) == ("a", "i", "r")
    assert (first.client_id, first.client_host) == ("client", "/127.0.0.1")
    assert (first.member_epoch, first.member_type) == (2, 1)
    assert partitions(first.assignment) == {"t": [0, 1, 2, 3]}, "two it gives up"
    assert partitions(first.target_assignment) == {"t": [0, 1]}
    assert second.subscribed_topic_names == ["t", "u"]
    assert second.subscribed_topic_regex == ""
    assert partitions(second.assignment) == {}


def test_deleted_topics_have_no_names() -> None:
    groups = ConsumerGroups(t=1)
    groups.join("a")
    groups.topics.remove("t")
    (member,) = described(groups).members
    assert partitions(member.assignment) == partitions(member.target_assignment) == {}


def test_groups_of_other_types_are_not_described() -> None:
    groups = ConsumerGroups()
    assert isinstance(described(groups), GroupIdNotFound)
    groups.commit(1)
    assert str(described(groups)) == "Group g is not a consumer group."

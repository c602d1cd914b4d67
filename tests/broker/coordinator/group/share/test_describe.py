from odradek.broker.coordinator.group.share.describe import decide_describe_share_group
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.share_groups import DescribedShareGroup
from tests.broker.coordinator.group.share.rig import GROUP, ShareGroups


def described(groups: ShareGroups, group_id: str = GROUP) -> DescribedShareGroup:
    found = groups.decide(lambda shard: decide_describe_share_group(shard, group_id))
    assert isinstance(found, DescribedShareGroup), repr(found)
    return found


def test_members_with_what_they_read() -> None:
    groups = ShareGroups(t=2)
    groups.join("a", rack_id="r")
    groups.join("b")
    found = described(groups)
    assert (found.group_state, found.assignor_name) == ("Stable", "simple")
    assert (found.group_epoch, found.assignment_epoch) == (4, 4)
    first, second = found.members
    assert (first.member_id, first.member_epoch, first.rack_id) == ("a", 3, "r")
    assert (first.client_id, first.client_host) == ("client", "/127.0.0.1")
    assert first.subscribed_topic_names == ["t"]
    assert second.member_epoch == 4
    (topic,) = second.assignment.topic_partitions
    assert (topic.topic_name, topic.partitions) == ("t", [1])


def test_an_empty_group_is_still_there() -> None:
    groups = ShareGroups(t=1)
    groups.join("a")
    groups.beat_as("a", -1)
    found = described(groups)
    assert (found.group_state, found.members) == ("Empty", [])
    assert (found.group_epoch, found.assignment_epoch) == (4, 3)


def test_a_deleted_topic_has_no_name_any_more() -> None:
    groups = ShareGroups(t=1)
    groups.join("a")
    groups.topics.remove("t")
    assert described(groups).members[0].assignment.topic_partitions == []


def test_no_group() -> None:
    groups = ShareGroups()
    found = groups.decide(lambda shard: decide_describe_share_group(shard, "none"))
    assert isinstance(found, KafkaError)
    assert (found.code, str(found)) == (69, "Group none not found.")

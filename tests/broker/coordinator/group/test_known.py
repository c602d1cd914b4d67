import pytest

from odradek.broker.coordinator.group.known import group_of_type, unknown_member
from odradek.protocol.errors import GroupIdNotFound
from tests.broker.coordinator.group.rig import GROUP
from tests.broker.coordinator.group.streams.rig import StreamsGroups


def test_a_group_is_of_one_type() -> None:
    groups = StreamsGroups(t=1)
    groups.join("a")
    shard = groups.state
    found = group_of_type(shard, shard.streams_groups, GROUP, "streams")
    assert found is groups.streams_group
    with pytest.raises(GroupIdNotFound, match="Group g is not a share group"):
        group_of_type(shard, shard.share_groups, GROUP, "share")
    with pytest.raises(GroupIdNotFound, match="Group h not found"):
        group_of_type(shard, shard.streams_groups, "h", "streams")


def test_who_is_no_member() -> None:
    assert str(unknown_member("g", "m")) == "Member m is not a member of group g."

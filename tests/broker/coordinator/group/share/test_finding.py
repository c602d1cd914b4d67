import pytest

from odradek.broker.coordinator.group.share.finding import (
    find_group,
    known_group,
    known_member,
)
from odradek.protocol.errors import GroupIdNotFound, UnknownMemberId
from tests.broker.coordinator.group.share.rig import GROUP, ShareGroups


def test_who_joins_makes_the_group() -> None:
    groups = ShareGroups(t=1)
    made = find_group(groups.state, GROUP, is_joining=True)
    assert (made.group_id, made.epoch) == (GROUP, 0)
    assert not groups.state.share_groups, "it is written first"
    with pytest.raises(GroupIdNotFound, match="Share group readers not found"):
        find_group(groups.state, "readers", is_joining=False)


def test_a_group_and_a_member_that_are_known() -> None:
    groups = ShareGroups(t=1)
    groups.join("a")
    group = known_group(groups.state, GROUP)
    assert group is find_group(groups.state, GROUP, is_joining=False)
    assert known_member(group, "a").member_id == "a"
    with pytest.raises(UnknownMemberId, match=f"b is not a member of group {GROUP}"):
        known_member(group, "b")


def test_a_group_of_another_type_is_none() -> None:
    groups = ShareGroups()
    groups.state.get_or_create("classic")
    for is_joining in (True, False):
        with pytest.raises(GroupIdNotFound, match="is not a share group"):
            find_group(groups.state, "classic", is_joining)
    with pytest.raises(GroupIdNotFound, match="is not a share group"):
        known_group(groups.state, "classic")
    with pytest.raises(GroupIdNotFound, match="Group none not found"):
        known_group(groups.state, "none")

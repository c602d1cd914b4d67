import pytest

from odradek.broker.coordinator.group.consumer.finding import (
    Found,
    check_instance,
    find_group,
    known_group,
    known_member,
)
from odradek.broker.coordinator.group.state.records import GroupRecord
from odradek.protocol.errors import (
    FencedInstanceId,
    GroupIdNotFound,
    UnknownMemberId,
)
from tests.broker.coordinator.group.consumer.rig import GROUP, ConsumerGroups


def test_who_joins_makes_the_group() -> None:
    groups = ConsumerGroups()
    found = find_group(groups.state, GROUP, is_joining=True)
    assert (found.group.group_id, found.before) == (GROUP, ())
    assert not groups.state.consumer_groups, "it is not written yet"
    with pytest.raises(GroupIdNotFound, match=r"Consumer group g not found\."):
        find_group(groups.state, GROUP, is_joining=False)


def test_an_empty_classic_group_goes_first() -> None:
    groups = ConsumerGroups()
    groups.commit(1)
    found = find_group(groups.state, GROUP, is_joining=True)
    assert found.before == [GroupRecord(GROUP, None)]
    with pytest.raises(GroupIdNotFound, match=r"Group g is not a consumer group\."):
        find_group(groups.state, GROUP, is_joining=False)


def test_what_is_known_is_found() -> None:
    groups = ConsumerGroups(t=1)
    groups.join("a", instance="i")
    group = groups.consumer_group
    assert known_group(groups.state, GROUP) is group
    assert find_group(groups.state, GROUP, is_joining=False) == Found(group)
    assert known_member(group, "a") is check_instance(group, "i", "a")
    with pytest.raises(UnknownMemberId, match=r"Member b is not a member of group g\."):
        known_member(group, "b")
    with pytest.raises(UnknownMemberId, match=r"Instance id j is unknown\."):
        check_instance(group, "j", "a")
    with pytest.raises(FencedInstanceId, match=r"was fenced by member a\."):
        check_instance(group, "i", "b")


def test_what_is_not_is_told_apart() -> None:
    groups = ConsumerGroups()
    with pytest.raises(GroupIdNotFound, match=r"Group g not found\."):
        known_group(groups.state, GROUP)
    groups.commit(1)
    with pytest.raises(GroupIdNotFound, match=r"Group g is not a consumer group\."):
        known_group(groups.state, GROUP)

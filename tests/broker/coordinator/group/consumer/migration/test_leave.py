from odradek.broker.coordinator.group.consumer.migration.leave import (
    decide_classic_leave,
)
from odradek.protocol.messages.groups import MemberIdentity
from tests.broker.coordinator.group.consumer.rig import GROUP, ConsumerGroups


def leave(groups: ConsumerGroups, *members: tuple[str, str | None]) -> list[int]:
    """The code of each; told by member id and instance id."""
    leaving = [
        MemberIdentity(member_id=member_id, group_instance_id=instance)
        for member_id, instance in members
    ]
    answer = groups.decide(lambda shard: decide_classic_leave(shard, GROUP, leaving))
    assert answer.error_code == 0
    return [each.error_code for each in answer.members]


def test_members_go_together_in_one_epoch() -> None:
    groups = ConsumerGroups(t=3)
    for name in "abc":
        groups.join(name)
    epoch = groups.consumer_group.epoch
    assert leave(groups, ("a", None), ("b", None), ("x", None)) == [0, 0, 25]
    assert list(groups.consumer_group.members) == ["c"]
    assert groups.consumer_group.epoch == epoch + 1


def test_static_members_by_their_instance_ids() -> None:
    groups = ConsumerGroups(t=1)
    groups.join("a", instance="i")
    assert leave(groups, ("", "j"), ("b", "i")) == [25, 82]
    assert groups.consumer_group.members
    assert leave(groups, ("", "i"), ("a", "i")) == [0, 25], "each once"
    assert not groups.consumer_group.members


def test_nobody_leaves_and_nothing_is_written() -> None:
    groups = ConsumerGroups(t=1)
    groups.join("a")
    before = list(groups.fake.log)
    assert leave(groups, ("x", None)) == [25]
    assert groups.fake.log == before

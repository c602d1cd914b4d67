import pytest

from odradek.broker.coordinator.group.administration import decide_delete
from odradek.broker.coordinator.group.consumer.removal import make_way, records_gone
from odradek.protocol.errors import (
    CoordinatorNotAvailable,
    ErrorCode,
    KafkaError,
    UnknownMemberId,
)
from tests.broker.coordinator.group.consumer.rig import GROUP, ConsumerGroups


def test_nothing_is_left_of_it() -> None:
    groups = ConsumerGroups(t1=1)
    groups.join("a", pattern="t.*")
    for _ in range(3):
        groups.clock.advance(0)
    group = groups.consumer_group
    group.targets["long gone"] = {}
    group.is_described_as_before_41 = True
    records = records_gone(groups.state, group)
    assert [each.encode()[0][1] for each in records] == [8, 7, 5, 7, 16, 6, 4, 3]
    assert all(each.encode()[1] is None for each in records)
    for record in records:
        groups.state.replay(record, None)  # type: ignore[arg-type]
    assert not groups.state.consumer_groups
    assert group.is_gone


def test_a_group_is_deleted_when_it_is_empty() -> None:
    groups = ConsumerGroups(t=1)
    groups.join("a")
    groups.commit(5, member_id="a", generation_id=2)
    refused = groups.decide(lambda shard: decide_delete(shard, GROUP))
    assert isinstance(refused, KafkaError)
    assert refused.code == ErrorCode.NON_EMPTY_GROUP
    groups.beat_as("a", -1)
    assert groups.decide(lambda shard: decide_delete(shard, GROUP)) == 0
    assert not groups.state.consumer_groups
    assert groups.offset() == -1
    groups.flush()
    groups.reload()
    assert not groups.state.all_groups(), "nor after a restart"


def test_an_empty_group_makes_way_for_a_classic_one() -> None:
    groups = ConsumerGroups(t=1)
    groups.join("a")
    groups.commit(5, member_id="a", generation_id=2)
    groups.beat_as("a", -1)
    with pytest.raises(UnknownMemberId):
        make_way(groups.state, groups.consumer_group, "b")
    make_way(groups.state, groups.consumer_group, "")
    assert not groups.state.consumer_groups
    assert groups.state.groups[GROUP].is_empty
    assert groups.offset() == 5, "what it has committed stays"
    groups.flush()
    groups.reload()
    assert list(groups.state.groups) == [GROUP]
    assert groups.offset() == 5


def test_what_cannot_be_written_changes_nothing() -> None:
    groups = ConsumerGroups(t=1)
    groups.join("a")
    groups.beat_as("a", -1)
    groups.fail_appends()
    with pytest.raises(CoordinatorNotAvailable):
        make_way(groups.state, groups.consumer_group, "")
    assert groups.consumer_group.is_empty

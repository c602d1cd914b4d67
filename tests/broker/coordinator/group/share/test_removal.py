"""A share group goes: its states first, and then all that is written of it."""

from odradek.broker.coordinator.group.offsets.expiry import (
    decide_expiry,
    decide_forget_topic,
)
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import CoordinatorNotAvailable, ErrorCode, KafkaError
from tests.broker.coordinator.group.share.rig import GROUP, ShareGroups


def left(groups: ShareGroups) -> None:
    groups.join("a")
    groups.beat_as("a", -1)


def test_a_group_with_members_stays() -> None:
    groups = ShareGroups(t=1)
    groups.join("a")
    answer = groups.delete()
    assert isinstance(answer, KafkaError)
    assert answer.code == ErrorCode.NON_EMPTY_GROUP


def test_states_go_first() -> None:
    groups = ShareGroups(t=2)
    left(groups)
    groups.states.is_slow = True
    before = len(groups.fake.log)
    answer = groups.delete()
    assert isinstance(answer, Parked)
    assert groups.kinds(before) == [15]
    states = groups.share_group.states
    assert list(states.deleting.values()) == ["t"]
    assert not states.initialized
    groups.states.answer_now()
    groups.clock.advance(0)
    assert answer.result() == 0
    assert not groups.states.starts
    assert groups.kinds(before) == [15, 12, 15, 11]
    assert not groups.state.share_groups
    groups.reload()
    assert not groups.state.share_groups, "nothing is left"


def test_a_group_that_is_not_there() -> None:
    answer = ShareGroups().delete()
    assert isinstance(answer, KafkaError)
    assert answer.code == ErrorCode.GROUP_ID_NOT_FOUND


def test_one_without_states_is_gone_at_once() -> None:
    groups = ShareGroups()
    left(groups)
    assert groups.delete() == 0
    assert not groups.states.asked
    assert not groups.state.share_groups


def test_who_joins_meanwhile_begins_anew() -> None:
    groups = ShareGroups(t=1)
    left(groups)
    groups.states.is_slow = True
    answer = groups.delete()
    joining = groups.join("b")
    groups.states.answer_now()
    groups.clock.advance(0)
    groups.clock.advance(0)
    assert answer.result() == ErrorCode.NON_EMPTY_GROUP
    assert groups.told(joining.result()) == {"t": [0]}
    assert list(groups.states.starts.values()) == [-1]


def test_states_that_cannot_be_deleted_keep_the_group() -> None:
    groups = ShareGroups(t=2)
    left(groups)
    groups.states.refused[1] = CoordinatorNotAvailable()
    assert groups.delete() == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert groups.share_group.states.deleting
    groups.reload()
    groups.states.refused.clear()
    before = len(groups.fake.log)
    assert groups.delete() == 0
    assert not groups.states.starts
    assert groups.kinds(before) == [12, 15, 11]


def test_a_topic_that_is_deleted_is_forgotten() -> None:
    groups = ShareGroups(t=1, u=1)
    groups.join("a", ["t", "u"])
    known = groups.topics.get("t")
    assert known is not None
    groups.topics.remove("t")
    groups.decide(lambda shard: decide_forget_topic(shard, "t", b"another".ljust(16)))
    assert known.topic_id in groups.share_group.states.initialized
    groups.decide(lambda shard: decide_forget_topic(shard, "t", known.topic_id))
    assert known.topic_id not in groups.share_group.states.initialized
    groups.topics.put("t", 1)
    groups.beat_as("a")
    assert groups.has("a") == {"t": [0], "u": [0]}
    assert [len(each) for each in groups.states.asked] == [2, 1]
    groups.topics.remove("u")
    groups.decide(lambda shard: decide_forget_topic(shard, "u", None))
    names = [each.name for each in groups.share_group.states.initialized.values()]
    assert names == ["t"]


def test_without_the_topic_of_states_groups_begin_anew() -> None:
    groups = ShareGroups(t=2)
    groups.join("a")
    name = "__share_group_state"
    groups.decide(lambda shard: decide_forget_topic(shard, name, bytes(16)))
    assert groups.share_group.states.initialized, "of an earlier one of this name"
    groups.decide(lambda shard: decide_forget_topic(shard, name, None))
    assert groups.share_group.states.is_empty
    groups.beat_as("a")
    assert groups.share_group.states.initialized
    assert [len(each) for each in groups.states.asked] == [2, 2]
    assert groups.has("a") == {"t": [0, 1]}


def test_a_group_never_expires() -> None:
    groups = ShareGroups(t=1)
    left(groups)
    groups.clock.advance(1 << 40)
    groups.decide(decide_expiry)
    assert GROUP in groups.state.share_groups

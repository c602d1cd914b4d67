from typing import Any

from odradek.broker.coordinator.group.share.places import (
    decide_forget,
    decide_move,
    decide_tell_states,
)
from odradek.broker.coordinator.group.state.share.states import NO_STATES
from odradek.broker.coordinator.share.state import ShareKey
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import (
    CoordinatorNotAvailable,
    ErrorCode,
    KafkaError,
)
from tests.broker.coordinator.group.share.rig import GROUP, ShareGroups


def code(answer: Any) -> int:
    assert isinstance(answer, KafkaError), answer
    return answer.code


def settled(groups: ShareGroups, answer: Any) -> Any:
    groups.flush()
    groups.clock.advance(0)
    return answer.result() if isinstance(answer, Parked) else answer


def id_of(groups: ShareGroups, name: str) -> bytes:
    topic = groups.topics.get(name)
    assert topic is not None
    return topic.topic_id


def move(groups: ShareGroups, offsets: dict[int, int], group_id: str = GROUP) -> Any:
    """Go on at these offsets of the partitions of t."""
    topic_id = id_of(groups, "t")
    wanted = {(topic_id, number): offset for number, offset in offsets.items()}
    answer = groups.decide(
        lambda shard: decide_move(shard, group_id, {topic_id: "t"}, wanted)
    )
    return settled(groups, answer)


def forget(groups: ShareGroups, *topic_ids: bytes) -> Any:
    answer = groups.decide(lambda shard: decide_forget(shard, GROUP, topic_ids))
    return settled(groups, answer)


class TestMove:
    def test_a_group_without_members_goes_on_elsewhere(self) -> None:
        groups = ShareGroups(t=2)
        groups.join("a")
        assert code(move(groups, {0: 4})) == ErrorCode.NON_EMPTY_GROUP
        groups.beat_as("a", -1)
        results = move(groups, {0: 4})
        assert list(results.values()) == [None]
        at = {key.partition: start for key, start in groups.states.starts.items()}
        assert at == {0: 4, 1: -1}
        assert groups.states.epochs[-1] == groups.share_group.epoch == 5, "a new one"
        groups.join("b")
        assert len(groups.states.asked) == 2, "it has a state in both"

    def test_one_that_is_not_there_is_made(self) -> None:
        groups = ShareGroups(t=2)
        move(groups, {1: 7}, "new")
        group = groups.state.share_groups["new"]
        assert (group.epoch, group.is_empty) == (1, True)
        assert list(group.states.places()) == [(id_of(groups, "t"), 1)]

    def test_nothing_is_made_for_nothing(self) -> None:
        groups = ShareGroups(t=2)
        assert move(groups, {}, "new") == {}
        assert not groups.state.share_groups

    def test_not_one_of_another_type(self) -> None:
        groups = ShareGroups(t=2)
        groups.state.get_or_create(GROUP)
        assert code(move(groups, {0: 4})) == ErrorCode.GROUP_ID_NOT_FOUND

    def test_each_partition_has_its_own_answer(self) -> None:
        groups = ShareGroups(t=2)
        groups.states.refused[1] = CoordinatorNotAvailable()
        results = move(groups, {0: 4, 1: 5})
        codes = {key.partition: error for key, error in results.items()}
        assert codes[0] is None
        assert code(codes[1]) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        states = groups.share_group.states
        assert [each.partitions for each in states.initializing.values()] == [{1}]

    def test_what_cannot_be_noted_has_not_been_done(self) -> None:
        groups = ShareGroups(t=2)
        groups.states.is_slow = True
        topic_id = id_of(groups, "t")
        wanted = {(topic_id, 0): 4}
        answer = groups.decide(
            lambda shard: decide_move(shard, GROUP, {topic_id: "t"}, wanted)
        )
        groups.flush()
        groups.fail_appends()
        groups.states.answer_now()
        (error,) = settled(groups, answer).values()
        assert code(error) == ErrorCode.COORDINATOR_NOT_AVAILABLE


class TestForget:
    def test_a_topic(self) -> None:
        groups = ShareGroups(t=2, u=1)
        groups.join("a", ["t", "u"])
        t, u = id_of(groups, "t"), id_of(groups, "u")
        assert code(forget(groups, t)) == ErrorCode.NON_EMPTY_GROUP
        groups.beat_as("a", -1)
        assert forget(groups, t) == {t: None}
        assert groups.states.starts == {ShareKey(GROUP, u, 0): -1}
        assert list(groups.share_group.states.initialized) == [u]
        assert not groups.share_group.states.deleting

    def test_what_it_never_had(self) -> None:
        groups = ShareGroups(t=1)
        groups.join("a")
        groups.beat_as("a", -1)
        other = b"other".ljust(16)
        (error,) = forget(groups, other).values()
        assert code(error) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert str(error) == "There is no offset information to delete."
        assert code(forget(ShareGroups(), other)) == ErrorCode.GROUP_ID_NOT_FOUND

    def test_what_failed_is_tried_again(self) -> None:
        groups = ShareGroups(t=2)
        groups.join("a")
        groups.beat_as("a", -1)
        t = id_of(groups, "t")
        groups.states.refused[1] = CoordinatorNotAvailable()
        (error,) = forget(groups, t).values()
        assert code(error) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert groups.share_group.states.deleting == {t: "t"}
        groups.states.refused.clear()
        assert forget(groups, t) == {t: None}
        assert not groups.states.starts
        assert groups.share_group.states.is_empty

    def test_who_joins_meanwhile_keeps_what_it_begins(self) -> None:
        groups = ShareGroups(t=1)
        groups.join("a")
        groups.beat_as("a", -1)
        t = id_of(groups, "t")
        groups.states.is_slow = True
        answer = groups.decide(lambda shard: decide_forget(shard, GROUP, [t]))
        groups.flush()
        joining = groups.join("b")
        groups.states.answer_now()
        assert settled(groups, answer) == {t: None}
        groups.states.answer_now()
        groups.clock.advance(0)
        assert groups.told(joining.result()) == {"t": [0]}
        assert list(groups.share_group.states.places()) == [(t, 0)]


def test_where_it_has_a_place() -> None:
    groups = ShareGroups(t=1)
    groups.join("a")
    groups.state.get_or_create("classic")

    def told(group_id: str) -> Any:
        return groups.decide(lambda shard: decide_tell_states(shard, group_id))

    assert told(GROUP) is groups.share_group.states
    assert told("none") == NO_STATES
    assert code(told("classic")) == ErrorCode.GROUP_ID_NOT_FOUND

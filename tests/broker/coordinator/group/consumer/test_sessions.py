from contextlib import suppress

from odradek.broker.coordinator.group.consumer.sessions import keep_session
from odradek.protocol.errors import CoordinatorNotAvailable, ErrorCode, KafkaError
from tests.broker.coordinator.group.consumer.rig import (
    GROUP,
    REBALANCE_MS,
    ConsumerGroups,
)

SESSION_MS = 45_000


def test_g006_who_is_silent_for_a_session_is_removed() -> None:
    groups = ConsumerGroups(t=2)
    groups.join("a")
    groups.join("b")
    groups.settle()
    groups.clock.advance(SESSION_MS - 1)
    groups.beat_as("b")
    groups.clock.advance(1)
    assert list(groups.consumer_group.members) == ["b"]
    assert groups.consumer_group.epoch == 4
    assert groups.told(groups.beat_as("b")) == {"t": [0, 1]}
    answer = groups.beat_as("a", 3)
    assert isinstance(answer, KafkaError)
    assert answer.code == ErrorCode.UNKNOWN_MEMBER_ID


def test_g006_who_does_not_give_up_its_partitions_is_removed() -> None:
    groups = ConsumerGroups(t=2)
    groups.join("a")
    groups.join("b")
    groups.beat_as("a")
    for _ in range(3):
        groups.clock.advance(REBALANCE_MS // 3 - 1)
        groups.beat_as("a", owned={"t": [0, 1]})
        groups.beat_as("b")
    assert set(groups.consumer_group.members) == {"a", "b"}, "it is heard"
    groups.clock.advance(3)
    assert list(groups.consumer_group.members) == ["b"]


def test_who_has_given_them_up_has_all_the_time_in_the_world() -> None:
    groups = ConsumerGroups(t=2)
    groups.join("a")
    groups.join("b")
    groups.settle()
    for _ in range(4):
        groups.clock.advance(SESSION_MS - 1)
        groups.settle()
    assert set(groups.consumer_group.members) == {"a", "b"}


def test_who_has_left_for_a_while_may_be_away_for_a_session() -> None:
    groups = ConsumerGroups(t=2)
    groups.join("a", instance="i")
    groups.beat_as("a", -2, instance="i")
    groups.clock.advance(SESSION_MS - 1)
    assert groups.consumer_group.members
    groups.clock.advance(1)
    assert not groups.consumer_group.members


def test_a_group_may_have_a_session_timeout_of_its_own() -> None:
    groups = ConsumerGroups(t=2)
    groups.options[GROUP] = {"consumer.session.timeout.ms": "50000"}
    groups.join("a")
    groups.clock.advance(49_999)
    assert groups.consumer_group.members
    groups.clock.advance(1)
    assert not groups.consumer_group.members


def test_g010_after_a_restart_the_timers_begin_anew() -> None:
    groups = ConsumerGroups(t=2)
    groups.join("a")
    groups.join("b")
    groups.beat_as("a")
    groups.flush()
    groups.clock.advance(SESSION_MS - 1)
    groups.reload()
    group = groups.consumer_group
    assert (group.epoch, groups.member("a").holding.epoch) == (3, 2)
    groups.clock.advance(SESSION_MS - 1)
    assert set(group.members) == {"a", "b"}
    groups.beat_as("a", owned={"t": [0, 1]})
    groups.beat_as("b")
    groups.clock.advance(REBALANCE_MS - SESSION_MS + 1)
    assert list(group.members) == ["b"], "it had to give up a partition"


def test_a_removal_that_cannot_be_written_is_tried_again() -> None:
    groups = ConsumerGroups(t=2)
    groups.join("a")
    groups.fake.refusal = CoordinatorNotAvailable()
    with suppress(CoordinatorNotAvailable):  # which the shard logs
        groups.clock.advance(SESSION_MS)
    assert groups.consumer_group.members
    groups.fake.refusal = None
    groups.clock.advance(SESSION_MS)
    assert not groups.consumer_group.members


def test_a_session_may_begin_later() -> None:
    groups = ConsumerGroups(t=2)
    groups.join("a")
    info = groups.member("a").info
    keep_session(groups.state, GROUP, "a", info, 1_000_000)
    groups.clock.advance(1_000_000 + SESSION_MS - 1)
    assert groups.consumer_group.members
    groups.clock.advance(1)
    assert not groups.consumer_group.members

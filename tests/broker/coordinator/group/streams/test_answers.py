from odradek.broker.coordinator.group.streams.answers import (
    left_answer,
    refused_streams_beat,
)
from odradek.protocol.errors import UnknownMemberId
from tests.broker.coordinator.group.streams.rig import GROUP, StreamsGroups


def test_a_refusal_says_why() -> None:
    answer = refused_streams_beat(UnknownMemberId("who?"))
    assert (answer.response.error_code, answer.response.error_message) == (25, "who?")
    assert answer.response.status == []
    assert answer.missing == ()


def test_who_has_left_is_told_no_more() -> None:
    response = left_answer("a", -1).response
    assert (response.member_epoch, response.heartbeat_interval_ms) == (-1, 0)
    assert (response.status, response.active_tasks) == ([], None)


def test_members_are_told_the_interval_of_the_group() -> None:
    groups = StreamsGroups(t=1)
    groups.options[GROUP]["streams.heartbeat.interval.ms"] = "6000"
    assert groups.response(groups.join("a")).heartbeat_interval_ms == 6000


def test_who_waits_for_tasks_comes_again_when_there_are_some() -> None:
    groups = StreamsGroups(t=1)
    groups.options[GROUP]["streams.initial.rebalance.delay.ms"] = "3000"
    assert groups.response(groups.join("a")).heartbeat_interval_ms == 3000
    groups.clock.advance(2_999)
    assert groups.response(groups.join("b")).heartbeat_interval_ms == 1


def test_tasks_are_told_in_order() -> None:
    groups = StreamsGroups(t=12)
    answer = groups.join("a")
    assert groups.told(answer) == {"0": list(range(12))}
    response = groups.response(answer)
    assert (response.standby_tasks, response.warmup_tasks) == ([], [])

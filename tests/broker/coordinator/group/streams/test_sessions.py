from contextlib import suppress

from odradek.broker.coordinator.group.streams.sessions import keep_session
from odradek.protocol.errors import CoordinatorNotAvailable, ErrorCode
from tests.broker.coordinator.group.streams.rig import GROUP, StreamsGroups

SESSION_MS = 45_000


def test_who_is_silent_for_a_session_is_removed() -> None:
    groups = StreamsGroups(t=2)
    groups.join("a")
    groups.join("b")
    groups.clock.advance(SESSION_MS - 1)
    groups.beat_as("b")
    groups.clock.advance(1)
    assert list(groups.streams_group.members) == ["b"]
    assert groups.streams_group.epoch == 4
    assert groups.told(groups.beat_as("b")) == {"0": [0, 1]}
    assert groups.beat_as("a", 2).code == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_does_not_give_up_what_it_has_to_is_removed() -> None:
    groups = StreamsGroups(t=2)
    groups.join("a", rebalance_timeout_ms=5_000)
    groups.join("b")
    groups.beat_as("a")
    groups.clock.advance(4_999)
    groups.beat_as("a")
    assert "a" in groups.streams_group.members
    groups.clock.advance(1)
    assert list(groups.streams_group.members) == ["b"]


def test_who_gives_it_up_stays() -> None:
    groups = StreamsGroups(t=2)
    groups.join("a", rebalance_timeout_ms=5_000)
    groups.join("b")
    groups.beat_as("a")
    groups.beat_as("a", owned={"0": [0]})
    groups.clock.advance(10_000)
    assert "a" in groups.streams_group.members


def test_a_group_may_have_a_session_timeout_of_its_own() -> None:
    groups = StreamsGroups(t=2)
    groups.options[GROUP]["streams.session.timeout.ms"] = "50000"
    groups.join("a")
    groups.clock.advance(49_999)
    assert groups.streams_group.members
    groups.clock.advance(1)
    assert groups.streams_group.is_empty


def test_waits_begin_anew_after_a_restart() -> None:
    groups = StreamsGroups(t=2)
    groups.join("a", rebalance_timeout_ms=50_000)
    groups.join("b")
    groups.beat_as("a")
    groups.clock.advance(SESSION_MS - 1)
    groups.reload()
    groups.clock.advance(SESSION_MS - 1)
    assert set(groups.streams_group.members) == {"a", "b"}
    groups.clock.advance(1)
    assert groups.streams_group.is_empty


def test_while_time_is_moved_a_session_may_begin_later() -> None:
    groups = StreamsGroups(t=2)
    groups.join("a")
    keep_session(groups.state, GROUP, "a", 3_600_000)
    groups.clock.advance(3_600_000 + SESSION_MS - 1)
    assert groups.streams_group.members


def test_what_cannot_be_written_is_tried_again() -> None:
    groups = StreamsGroups(t=2)
    groups.join("a")
    groups.fake.refusal = CoordinatorNotAvailable()
    with suppress(CoordinatorNotAvailable):  # the shard itself would log it
        groups.clock.advance(SESSION_MS)
    groups.fake.refusal = None
    assert groups.streams_group.members
    groups.clock.advance(SESSION_MS)
    assert groups.streams_group.is_empty


def test_who_leaves_is_waited_for_no_more() -> None:
    groups = StreamsGroups(t=2)
    groups.join("a")
    groups.beat_as("a", -1)
    assert not len(groups.state.timers)

from contextlib import suppress

from odradek.broker.coordinator.group.share.sessions import keep_session
from odradek.protocol.errors import CoordinatorNotAvailable, ErrorCode
from tests.broker.coordinator.group.share.rig import GROUP, ShareGroups

SESSION_MS = 45_000


def test_who_is_silent_for_a_session_is_removed() -> None:
    groups = ShareGroups(t=2)
    groups.join("a")
    groups.join("b")
    groups.clock.advance(SESSION_MS - 1)
    groups.beat_as("b")
    groups.clock.advance(1)
    assert list(groups.share_group.members) == ["b"]
    assert groups.share_group.epoch == 5
    assert groups.told(groups.beat_as("b")) == {"t": [0, 1]}
    assert groups.beat_as("a", 3).code == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_waits_for_states_has_a_session() -> None:
    groups = ShareGroups(t=2)
    groups.states.is_slow = True
    groups.join("a")
    groups.clock.advance(SESSION_MS)
    assert not groups.share_group.members


def test_a_group_may_have_a_session_timeout_of_its_own() -> None:
    groups = ShareGroups(t=2)
    groups.options[GROUP] = {"share.session.timeout.ms": "50000"}
    groups.join("a")
    groups.clock.advance(49_999)
    assert groups.share_group.members
    groups.clock.advance(1)
    assert groups.share_group.is_empty


def test_sessions_begin_anew_after_a_restart() -> None:
    groups = ShareGroups(t=2)
    groups.join("a")
    groups.clock.advance(SESSION_MS - 1)
    groups.reload()
    groups.clock.advance(SESSION_MS - 1)
    assert groups.share_group.members
    groups.clock.advance(1)
    assert groups.share_group.is_empty


def test_while_time_is_moved_a_session_may_begin_later() -> None:
    groups = ShareGroups(t=2)
    groups.join("a")
    keep_session(groups.state, GROUP, "a", 3_600_000)
    groups.clock.advance(3_600_000 + SESSION_MS - 1)
    assert groups.share_group.members


def test_what_cannot_be_written_is_tried_again() -> None:
    groups = ShareGroups(t=2)
    groups.join("a")
    groups.fake.refusal = CoordinatorNotAvailable()
    with suppress(CoordinatorNotAvailable):  # the shard itself would log it
        groups.clock.advance(SESSION_MS)
    groups.fake.refusal = None
    assert groups.share_group.members
    groups.clock.advance(SESSION_MS)
    assert groups.share_group.is_empty


def test_who_leaves_is_waited_for_no_more() -> None:
    groups = ShareGroups(t=2)
    groups.join("a")
    answer = groups.beat_as("a", -1)
    assert (answer.member_id, answer.member_epoch) == ("a", -1)
    assert answer.heartbeat_interval_ms == 0
    assert not len(groups.state.timers)

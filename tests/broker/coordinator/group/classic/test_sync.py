"""Assignments: written by the leader before anybody gets them."""

import pytest

from odradek.broker.coordinator.group.state.classic_states import ClassicState
from odradek.protocol.errors import CoordinatorNotAvailable, ErrorCode, KafkaError
from tests.broker.coordinator.group.rig import REBALANCE_MS, SESSION_MS, Groups


def code(answer: object) -> int:
    if isinstance(answer, KafkaError):
        return answer.code
    return answer.error_code  # type: ignore[attr-defined,no-any-return]


def test_members_wait_for_the_leader_and_for_the_disk() -> None:
    groups = Groups()
    leader, follower = (each.member_id for each in groups.joined("a", "b"))
    waiting = groups.sync(follower)
    assert not waiting.done()
    leading = groups.sync(leader, {leader: b"1", follower: b"2"})
    assert not leading.done()
    assert not waiting.done()
    groups.flush()
    assert (leading.result().assignment, waiting.result().assignment) == (b"1", b"2")
    assert waiting.result().protocol_name == "range"
    assert groups.group.state is ClassicState.STABLE


def test_an_assignment_may_be_lost_unless_somebody_was_fenced_before_it() -> None:
    groups = Groups()
    (leader,) = (each.member_id for each in groups.joined("a"))
    groups.sync(leader, {leader: b"1"})
    groups.flush()
    static = Groups()
    joining = static.join(instance="i")
    static.clock.advance(0)
    static.sync(joining.result().member_id, {})
    assert (groups.fake.may_be_lost, static.fake.may_be_lost) == ([True], [False])


def test_who_comes_later_is_answered_at_once() -> None:
    groups = Groups()
    leader, follower = (each.member_id for each in groups.joined("a", "b"))
    groups.sync(leader, {follower: b"2"})
    groups.flush()
    assert groups.sync(follower).assignment == b"2"
    assert groups.sync(leader).assignment == b""  # the leader gave itself nothing


def test_what_the_leader_brings_for_strangers_is_dropped() -> None:
    groups = Groups()
    (leader,) = (each.member_id for each in groups.joined("a"))
    groups.sync(leader, {leader: b"1", "stranger": b"2"})
    groups.flush()
    groups.reload()
    assert list(groups.group.members) == [leader]


def test_an_assignment_that_cannot_be_written_begins_anew() -> None:
    groups = Groups()
    leader, follower = (each.member_id for each in groups.joined("a", "b"))
    waiting = groups.sync(follower)
    groups.fail_appends()
    leading = groups.sync(leader, {leader: b"1"})
    for answer in (waiting, leading):
        assert code(answer.result()) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert groups.group.state is ClassicState.PREPARING_REBALANCE
    assert all(not each.assignment for each in groups.group.members.values())


def test_an_assignment_of_an_older_generation_is_ignored() -> None:
    groups = Groups()
    leader, follower = (each.member_id for each in groups.joined("a", "b"))
    leading = groups.sync(leader, {leader: b"1"})
    groups.join(follower, protocols=(("range", b"other"),))
    assert code(leading.result()) == ErrorCode.REBALANCE_IN_PROGRESS
    groups.flush()
    assert groups.group.state is ClassicState.PREPARING_REBALANCE
    assert groups.group.members[leader].assignment == b""


def test_t148_sync_timeout_removes_silent_members() -> None:
    groups = Groups()
    leader, silent = (each.member_id for each in groups.joined("a", "b"))
    groups.sync(leader, {leader: b"1"})
    groups.flush()
    for _ in range(REBALANCE_MS // 5000):
        groups.beat(leader)
        groups.beat(silent)
        groups.clock.advance(5000)
    assert set(groups.group.members) == {leader}
    assert groups.group.state is ClassicState.PREPARING_REBALANCE


def test_t148_a_leader_that_never_speaks_is_let_go() -> None:
    groups = Groups()
    leader, follower = (each.member_id for each in groups.joined("a", "b"))
    waiting = groups.sync(follower)
    for _ in range(REBALANCE_MS // 5000):
        groups.beat(leader)
        groups.clock.advance(5000)
    assert code(waiting.result()) == ErrorCode.REBALANCE_IN_PROGRESS
    assert set(groups.group.members) == {follower}


class TestRefusals:
    def test_an_unknown_group(self) -> None:
        groups = Groups()
        answer = groups.sync("a", generation=1)
        assert code(answer) == ErrorCode.UNKNOWN_MEMBER_ID

    def test_an_unknown_member(self) -> None:
        groups = Groups()
        groups.stable("a")
        assert code(groups.sync("b")) == ErrorCode.UNKNOWN_MEMBER_ID

    def test_another_generation(self) -> None:
        groups = Groups()
        (member,) = groups.stable("a")
        for generation in (7, 2):
            answer = groups.sync(member, generation=generation)
            assert code(answer) == ErrorCode.ILLEGAL_GENERATION

    @pytest.mark.parametrize(
        "fields", [{"protocol_type": "connect"}, {"protocol_name": "sticky"}]
    )
    def test_another_protocol(self, fields: dict[str, str]) -> None:
        groups = Groups()
        (member,) = groups.stable("a")
        answer = groups.sync(member, **fields)
        assert code(answer) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL

    def test_during_a_rebalance(self) -> None:
        groups = Groups()
        leader, follower = groups.stable("a", "b")
        groups.join(leader)
        assert code(groups.sync(follower)) == ErrorCode.REBALANCE_IN_PROGRESS


class TestHeartbeats:
    def test_in_every_state(self) -> None:
        groups = Groups()
        leader, follower = (each.member_id for each in groups.joined("a", "b"))
        assert groups.beat(leader) == ErrorCode.NONE  # completing
        groups.settle([leader, follower])
        assert groups.beat(leader) == ErrorCode.NONE  # stable
        groups.join(leader)
        assert groups.beat(follower) == ErrorCode.REBALANCE_IN_PROGRESS
        groups.leave(leader, follower)
        assert groups.beat(leader) == ErrorCode.UNKNOWN_MEMBER_ID  # empty

    def test_of_strangers(self) -> None:
        groups = Groups()
        assert groups.beat("a", generation=1) == ErrorCode.UNKNOWN_MEMBER_ID
        (member,) = groups.stable("a")
        assert groups.beat("b") == ErrorCode.UNKNOWN_MEMBER_ID
        assert groups.beat(member, generation=0) == ErrorCode.ILLEGAL_GENERATION
        unknown = groups.beat(member, group_instance_id="x")
        assert unknown == ErrorCode.UNKNOWN_MEMBER_ID

    def test_a_session_lasts_from_beat_to_beat(self) -> None:
        groups = Groups()
        leader, follower = groups.stable("a", "b")
        for _ in range(5):
            groups.clock.advance(SESSION_MS - 1)
            assert groups.beat(leader) == groups.beat(follower) == ErrorCode.NONE
        groups.clock.advance(SESSION_MS - 1)
        groups.beat(leader)
        groups.clock.advance(1)
        assert set(groups.group.members) == {leader}
        assert groups.beat(leader) == ErrorCode.REBALANCE_IN_PROGRESS

    def test_who_waits_for_an_answer_need_not_beat(self) -> None:
        groups = Groups()
        leader, follower = groups.stable("a", "b")
        rejoined = groups.join(leader)
        for _ in range(3):
            groups.clock.advance(SESSION_MS - 1)
            groups.beat(follower)
        assert not rejoined.done()
        assert leader in groups.group.members

    def test_a_jump_of_the_wall_clock_ends_no_session(self) -> None:
        groups = Groups()
        (member,) = groups.stable("a")
        groups.clock.jump_wall(10 * SESSION_MS)
        groups.clock.advance(1)
        assert groups.beat(member) == ErrorCode.NONE


class TestRestart:
    def test_t151_members_and_assignments_are_there_again(self) -> None:
        groups = Groups()
        leader, follower = groups.stable("a", "b")
        groups.reload()
        assert groups.group.state is ClassicState.STABLE
        assert groups.group.is_leader(leader)
        assert groups.beat(follower) == ErrorCode.NONE
        assert groups.sync(follower).assignment == follower.encode()

    def test_sessions_begin_anew(self) -> None:
        groups = Groups()
        leader, follower = groups.stable("a", "b")
        groups.clock.advance(SESSION_MS - 1)
        groups.reload()
        groups.clock.advance(SESSION_MS - 1)
        assert groups.beat(leader) == ErrorCode.NONE
        groups.clock.advance(1)
        assert set(groups.group.members) == {leader}
        assert follower not in groups.group.members

    def test_a_group_that_is_too_large_now_shrinks(self) -> None:
        groups = Groups()
        groups.stable("a", "b")
        groups.config = Groups(group_max_size=1).config
        groups.reload()
        assert groups.group.state is ClassicState.PREPARING_REBALANCE

    def test_a_closing_broker_answers_everybody_who_waits(self) -> None:
        groups = Groups()
        leader, follower = (each.member_id for each in groups.joined("a", "b"))
        syncing = groups.sync(follower)
        groups.state.on_unloaded(CoordinatorNotAvailable())
        assert code(syncing.result()) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        joining = groups.join(leader, protocols=(("range", b"other"),))
        groups.state.on_unloaded(CoordinatorNotAvailable())
        assert code(joining.result()) == ErrorCode.COORDINATOR_NOT_AVAILABLE

"""Joins, step by step: who waits, who is answered what."""

import pytest

from odradek.broker.coordinator.group.state.classic_states import ClassicState
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode, KafkaError
from tests.broker.coordinator.group.rig import RANGE, REBALANCE_MS, SESSION_MS, Groups


def code(answer: object) -> int:
    if isinstance(answer, Parked):
        answer = answer.result()
    if isinstance(answer, KafkaError):
        return answer.code
    return answer.error_code  # type: ignore[attr-defined,no-any-return]


def test_the_first_member_leads_alone() -> None:
    groups = Groups()
    (answer,) = groups.joined("a")
    assert answer.error_code == ErrorCode.NONE
    assert answer.generation_id == 1
    assert answer.leader == answer.member_id
    assert answer.member_id.startswith("a-")
    assert [each.member_id for each in answer.members] == [answer.member_id]
    assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")
    assert groups.group.state is ClassicState.COMPLETING_REBALANCE


def test_only_the_leader_is_told_the_members() -> None:
    first, second = Groups().joined("a", "b")
    assert len(first.members) == 2
    assert second.members == []
    assert second.leader == first.member_id


def test_an_initial_delay_gathers_members() -> None:
    groups = Groups(group_initial_rebalance_delay_ms=3000)
    first = groups.join()
    groups.clock.advance(2999)
    second = groups.join()
    groups.clock.advance(1)
    assert not first.done()  # somebody came: another delay
    groups.clock.advance(2999)
    assert not first.done()
    groups.clock.advance(1)
    assert first.result().generation_id == second.result().generation_id == 1


def test_the_initial_delay_ends_with_the_rebalance_timeout() -> None:
    groups = Groups(group_initial_rebalance_delay_ms=3000)
    first = groups.join(rebalance_timeout_ms=7000)
    for _ in range(2):
        groups.clock.advance(3000)
        groups.join(rebalance_timeout_ms=7000)
    groups.clock.advance(1000)
    assert first.done()


def test_without_a_delay_the_first_generation_comes_at_once() -> None:
    groups = Groups()
    answer = groups.join()
    groups.clock.advance(0)
    assert answer.done()


class TestMemberIds:
    def test_t144_member_id_required_then_pending_expires(self) -> None:
        groups = Groups()
        refused = groups.join(must_know_its_id=True)
        assert refused.error_code == ErrorCode.MEMBER_ID_REQUIRED
        assert refused.member_id.startswith("client-")
        assert groups.group.pending_join_ids == {refused.member_id}
        groups.clock.advance(SESSION_MS)
        assert groups.group.pending_join_ids == set()
        assert code(groups.join(refused.member_id)) == ErrorCode.UNKNOWN_MEMBER_ID

    def test_t144_pending_blocks_completion(self) -> None:
        groups = Groups()
        (member,) = groups.stable("a")
        pending = groups.join(must_know_its_id=True)
        rejoined = groups.join(member)
        assert not rejoined.done()
        joined = groups.join(pending.member_id)
        assert rejoined.result().generation_id == joined.result().generation_id == 2

    def test_a_pending_member_that_expires_blocks_nobody_any_more(self) -> None:
        groups = Groups()
        (member,) = groups.stable("a")
        groups.join(must_know_its_id=True)
        rejoined = groups.join(member)
        groups.clock.advance(SESSION_MS)
        assert rejoined.result().generation_id == 2

    def test_an_id_that_nobody_gave(self) -> None:
        groups = Groups()
        assert code(groups.join("stranger")) == ErrorCode.UNKNOWN_MEMBER_ID
        assert groups.state.group("g") is None
        groups.stable("a")
        assert code(groups.join("stranger")) == ErrorCode.UNKNOWN_MEMBER_ID


class TestRefusals:
    @pytest.mark.parametrize("timeout_ms", [5999, 1_800_001])
    def test_a_session_timeout_out_of_bounds(self, timeout_ms: int) -> None:
        answer = Groups().join(session_timeout_ms=timeout_ms)
        assert code(answer) == ErrorCode.INVALID_SESSION_TIMEOUT

    @pytest.mark.parametrize("fields", [{"protocol_type": ""}, {"protocols": ()}])
    def test_no_protocol(self, fields: dict[str, object]) -> None:
        groups = Groups()
        answer = groups.join(**fields)
        assert code(answer) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        assert groups.state.group("g") is None

    @pytest.mark.parametrize(
        "fields", [{"protocol_type": "connect"}, {"protocols": (("sticky", b""),)}]
    )
    def test_no_common_protocol(self, fields: dict[str, object]) -> None:
        groups = Groups()
        groups.stable("a")
        answer = groups.join(**fields)
        assert code(answer) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL

    def test_an_empty_group_takes_another_protocol_type(self) -> None:
        groups = Groups()
        (member,) = groups.stable("a")
        groups.leave(member)
        answer = groups.join(protocol_type="connect")
        groups.clock.advance(0)
        assert answer.result().protocol_type == "connect"


class TestSize:
    def test_one_more_than_group_max_size(self) -> None:
        groups = Groups(group_max_size=2)
        groups.stable("a", "b")
        assert code(groups.join()) == ErrorCode.GROUP_MAX_SIZE_REACHED

    def test_members_come_back_though_the_group_is_full(self) -> None:
        groups = Groups(group_max_size=2)
        first, second = groups.stable("a", "b")
        rejoined = groups.join(first)
        assert code(groups.join(second)) == code(rejoined) == ErrorCode.NONE

    def test_the_last_to_come_back_finds_a_shrunk_group_full(self) -> None:
        groups = Groups(group_max_size=3)
        ids = groups.stable("a", "b", "c")
        groups.state.config = Groups(group_max_size=2).config
        answers = [groups.join(each) for each in ids]
        codes = [code(each) for each in answers[2:]] + [code(answers[0])]
        assert codes == [ErrorCode.GROUP_MAX_SIZE_REACHED, ErrorCode.NONE]
        assert set(groups.group.members) == set(ids[:2])


class TestAgain:
    def test_t150_a_follower_with_the_same_metadata_changes_nothing(self) -> None:
        groups = Groups()
        _, follower = groups.stable("a", "b")
        answer = groups.join(follower)
        assert answer.generation_id == 1
        assert answer.members == []
        assert groups.group.state is ClassicState.STABLE

    def test_t150_the_leader_brings_about_a_rebalance(self) -> None:
        groups = Groups()
        leader, follower = groups.stable("a", "b")
        answer = groups.join(leader)
        assert groups.group.state is ClassicState.PREPARING_REBALANCE
        groups.join(follower)
        assert answer.result().generation_id == 2

    def test_changed_metadata_brings_about_a_rebalance(self) -> None:
        groups = Groups()
        _, follower = groups.stable("a", "b")
        groups.join(follower, protocols=(("range", b"other"),))
        assert groups.group.state is ClassicState.PREPARING_REBALANCE

    def test_while_the_assignment_is_awaited_the_same_answer_comes_again(self) -> None:
        groups = Groups()
        leader, follower = groups.joined("a", "b")
        again = groups.join(leader.member_id)
        assert again.generation_id == 1
        assert len(again.members) == 2
        assert groups.join(follower.member_id).members == []
        assert groups.group.state is ClassicState.COMPLETING_REBALANCE

    def test_while_the_assignment_is_awaited_changed_metadata_begins_anew(self) -> None:
        groups = Groups()
        leader, follower = groups.joined("a", "b")
        waiting = groups.sync(follower.member_id)
        groups.join(leader.member_id, protocols=(("range", b"other"),))
        assert waiting.result().error_code == ErrorCode.REBALANCE_IN_PROGRESS
        assert groups.group.state is ClassicState.PREPARING_REBALANCE

    def test_who_asks_twice_gets_one_answer_each(self) -> None:
        groups = Groups()
        leader, follower = groups.stable("a", "b")
        first = groups.join(leader)
        second = groups.join(leader)
        assert code(first) == ErrorCode.REBALANCE_IN_PROGRESS
        groups.join(follower)
        assert second.result().generation_id == 2


class TestRebalance:
    def test_a_new_member_waits_for_the_others(self) -> None:
        groups = Groups()
        leader, follower = groups.stable("a", "b")
        new = groups.join(client_id="c")
        assert not new.done()
        assert groups.beat(leader) == ErrorCode.REBALANCE_IN_PROGRESS
        groups.join(leader)
        assert not new.done()
        groups.join(follower)
        assert new.result().generation_id == 2
        assert len(groups.group.members) == 3

    def test_who_does_not_come_back_in_time_is_no_member(self) -> None:
        groups = Groups()
        leader, follower = groups.stable("a", "b")
        rejoined = groups.join(leader)
        for _ in range(REBALANCE_MS // 5000):
            groups.beat(follower)
            groups.clock.advance(5000)
        assert rejoined.result().generation_id == 2
        assert set(groups.group.members) == {leader}

    def test_t146_an_absent_leader_is_replaced(self) -> None:
        groups = Groups()
        leader, follower = groups.stable("a", "b")
        answer = groups.join(follower, protocols=(("range", b"other"),))
        for _ in range(REBALANCE_MS // 5000):
            groups.beat(leader)
            groups.clock.advance(5000)
        assert answer.result().leader == follower

    def test_t146_when_nobody_comes_static_members_are_waited_for(self) -> None:
        groups = Groups()
        first = groups.join(instance="one", session_timeout_ms=1_000_000)
        groups.clock.advance(0)
        groups.settle([first.result().member_id])
        groups.join(client_id="b")
        pending = next(iter(set(groups.group.members) - {first.result().member_id}))
        groups.leave(pending)
        groups.clock.advance(REBALANCE_MS * 3)
        assert groups.group.state is ClassicState.PREPARING_REBALANCE
        assert groups.group.generation_id == 1
        answer = groups.join(first.result().member_id, instance="one")
        assert answer.result().generation_id == 2

    def test_t146_the_protocol_with_most_votes(self) -> None:
        groups = Groups()
        sticky_first = (("sticky", b""), ("range", b""))
        range_first = (("range", b""), ("sticky", b""), ("other", b""))
        parked = [
            groups.join(protocols=protocols)
            for protocols in (range_first, sticky_first, sticky_first)
        ]
        groups.clock.advance(0)
        assert {each.result().protocol_name for each in parked} == {"sticky"}

    def test_a_new_member_that_never_hears_of_it_is_let_go(self) -> None:
        groups = Groups()
        (leader,) = groups.stable("a")
        new = groups.join(client_id="b", rebalance_timeout_ms=1_000_000)
        groups.clock.advance(0)
        for _ in range(300_000 // 5000):
            assert not new.done()
            groups.beat(leader)
            groups.clock.advance(5000)
        assert new.result().error_code == ErrorCode.UNKNOWN_MEMBER_ID

    def test_the_last_member_leaves_an_empty_group_behind(self) -> None:
        groups = Groups()
        (member,) = groups.stable("a")
        groups.leave(member)
        assert groups.group.state is ClassicState.EMPTY
        assert groups.group.generation_id == 2
        groups.flush()
        groups.reload()
        assert groups.group.state is ClassicState.EMPTY
        assert groups.group.generation_id == 2
        assert groups.group.protocol_type == "consumer"


def test_protocols_of_a_member_are_votes_in_its_order() -> None:
    groups = Groups()
    groups.stable("a")
    assert groups.group.members
    assert groups.group.select_protocol() == RANGE[0][0]

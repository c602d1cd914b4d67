"""Who may commit for a group in a transaction, and what is kept of it."""

from typing import Any

import pytest

from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.group.administration import (
    decide_delete,
    decide_delete_offsets,
    decide_describe,
)
from odradek.broker.coordinator.group.offsets.commit import Committer, WantedOffset
from odradek.broker.coordinator.group.offsets.txn_commit import decide_txn_commit
from odradek.broker.coordinator.group.state.classic_states import (
    ClassicEvent,
    ClassicState,
)
from odradek.broker.coordinator.group.state.records import CommittedOffset
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.storage.producers.verification_state import VerificationGuard
from tests.broker.coordinator.group.rig import GROUP, SESSION_MS, TOPIC_ID, Groups


def code(answer: Any) -> int:
    if isinstance(answer, KafkaError):
        return answer.code
    (only,) = answer
    return int(only)


def test_the_records_are_part_of_the_transaction() -> None:
    groups = Groups()
    guard, producer = VerificationGuard(), ProducerIdentity(5, 3)
    wanted = [WantedOffset("t", 0, 7, 3, "", TOPIC_ID)]
    decision = decide_txn_commit(
        groups.state, Committer(GROUP), producer, guard, wanted, list
    )
    assert decision.producer == producer
    assert decision.guard is guard
    assert len(decision.records) == 1


def test_a_marker_commits_everything_that_came_with_it() -> None:
    groups = Groups()
    assert groups.txn_commit(7, metadata="note") == [ErrorCode.NONE]
    committed_ms = groups.clock.now_ms()
    groups.clock.advance(10)
    groups.end_transaction(5, is_commit=True)
    expected = CommittedOffset(7, 3, "note", committed_ms, -1, TOPIC_ID)
    assert groups.fetch()[0].committed == expected


def test_a_simple_group_is_there_from_the_first_pending_offset_on() -> None:
    groups = Groups()
    groups.txn_commit(7)
    described = groups.decide(lambda shard: decide_describe(shard, GROUP, 6))
    assert described.group_state == ClassicState.EMPTY.value
    groups.end_transaction(5, is_commit=False)
    assert groups.group.state is ClassicState.EMPTY
    assert groups.group.protocol_type is None


class TestStrangers:
    @pytest.mark.parametrize("generation", [0, 5])
    def test_a_generation_of_an_unknown_group(self, generation: int) -> None:
        groups = Groups()
        answer = groups.txn_commit(7, generation_id=generation)
        assert code(answer) == ErrorCode.ILLEGAL_GENERATION
        assert groups.state.group(GROUP) is None

    @pytest.mark.parametrize(
        "who", [{"member_id": "x"}, {"group_instance_id": "x"}, {}]
    )
    def test_anybody_without_a_generation_in_an_unknown_group(self, who: Any) -> None:
        assert code(Groups().txn_commit(7, **who)) == ErrorCode.NONE

    def test_a_generation_of_a_simple_group(self) -> None:
        groups = Groups()
        groups.commit(1)
        answer = groups.txn_commit(7, generation_id=5, member_id="x")
        assert code(answer) == ErrorCode.UNKNOWN_MEMBER_ID

    def test_nobody_in_particular_in_a_group_with_members(self) -> None:
        """As producers before KIP-447 do; a plain commit of them is refused."""
        groups = Groups()
        groups.stable("a")
        assert code(groups.txn_commit(7)) == ErrorCode.NONE
        assert code(groups.commit(7)) == ErrorCode.UNKNOWN_MEMBER_ID

    def test_others_than_the_members_of_this_generation(self) -> None:
        groups = Groups()
        (member,) = groups.stable("a")
        for who, refusal in (
            ({"generation_id": 1, "member_id": "b"}, ErrorCode.UNKNOWN_MEMBER_ID),
            ({"generation_id": 1}, ErrorCode.UNKNOWN_MEMBER_ID),
            ({"member_id": "b"}, ErrorCode.UNKNOWN_MEMBER_ID),
            ({"member_id": member}, ErrorCode.ILLEGAL_GENERATION),
            ({"generation_id": 2, "member_id": member}, ErrorCode.ILLEGAL_GENERATION),
        ):
            assert code(groups.txn_commit(7, **who)) == refusal, who
        assert groups.fetch(require_stable=True)[0].error_code == ErrorCode.NONE

    def test_a_fenced_instance(self) -> None:
        groups = Groups()
        parked = groups.join(instance="one")
        groups.clock.advance(0)
        member_id = parked.result().member_id
        groups.settle([member_id])
        who = {"generation_id": 1, "group_instance_id": "one"}
        answer = groups.txn_commit(7, member_id="one-old", **who)
        assert code(answer) == ErrorCode.FENCED_INSTANCE_ID
        assert code(groups.txn_commit(7, member_id=member_id, **who)) == ErrorCode.NONE
        who["group_instance_id"] = "two"
        answer = groups.txn_commit(7, member_id=member_id, **who)
        assert code(answer) == ErrorCode.UNKNOWN_MEMBER_ID

    def test_a_dead_group(self) -> None:
        groups = Groups()
        groups.commit(1)
        groups.group.note(ClassicEvent.DELETED, 0)
        assert code(groups.txn_commit(7)) == ErrorCode.COORDINATOR_NOT_AVAILABLE


class TestMembers:
    def test_in_a_stable_group(self) -> None:
        groups = Groups()
        (member,) = groups.stable("a")
        answer = groups.txn_commit(7, generation_id=1, member_id=member)
        assert code(answer) == ErrorCode.NONE

    def test_while_the_assignment_is_awaited(self) -> None:
        """Where a plain commit would be told of the rebalance."""
        groups = Groups()
        (joined,) = groups.joined("a")
        answer = groups.txn_commit(7, generation_id=1, member_id=joined.member_id)
        assert code(answer) == ErrorCode.NONE

    def test_a_commit_of_a_producer_renews_no_session(self) -> None:
        groups = Groups()
        (member,) = groups.stable("a")
        groups.clock.advance(SESSION_MS - 1)
        groups.txn_commit(7, generation_id=1, member_id=member)
        groups.clock.advance(1)
        assert member not in groups.group.members


def test_a_note_that_is_too_long_is_refused_alone() -> None:
    groups = Groups(offset_metadata_max_bytes=4)
    refused = groups.txn_commit(8, metadata="fives", places=[("t", 0), ("t", 1)])
    assert refused == [ErrorCode.OFFSET_METADATA_TOO_LARGE] * 2
    assert groups.fetch(require_stable=True)[0].error_code == ErrorCode.NONE
    assert groups.state.group(GROUP) is None


def test_a_failed_append_leaves_nothing_pending() -> None:
    groups = Groups()
    groups.fail_appends()
    assert code(groups.txn_commit(8)) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    groups.end_transaction(5, is_commit=True)
    assert groups.offset() == -1


class TestAdministrators:
    def test_who_deletes_an_offset_deletes_what_is_pending(self) -> None:
        groups = Groups()
        groups.txn_commit(7, places=[("t", 0), ("t", 1)])
        codes = groups.decide(
            lambda shard: decide_delete_offsets(shard, GROUP, [("t", 0)], list)
        )
        assert codes == [ErrorCode.NONE]
        groups.end_transaction(5, is_commit=True)
        assert (groups.offset("t", 0), groups.offset("t", 1)) == (-1, 7)

    def test_who_deletes_a_group_deletes_what_is_pending(self) -> None:
        groups = Groups()
        groups.txn_commit(7)
        assert groups.decide(lambda shard: decide_delete(shard, GROUP)) == 0
        groups.end_transaction(5, is_commit=True)
        assert groups.offset() == -1
        assert groups.state.group(GROUP) is None

    def test_what_is_committed_after_a_deletion_is_kept(self) -> None:
        groups = Groups()
        groups.txn_commit(7)
        groups.decide(lambda shard: decide_delete(shard, GROUP))
        groups.txn_commit(8)
        groups.end_transaction(5, is_commit=True)
        assert groups.offset() == 8
        assert groups.group.state is ClassicState.EMPTY

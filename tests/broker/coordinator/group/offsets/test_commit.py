"""Who may commit for a group, and what is kept of it."""

from typing import Any

import pytest

from odradek.broker.coordinator.group.state.classic_states import ClassicState
from odradek.broker.coordinator.group.state.records import CommittedOffset
from odradek.protocol.errors import ErrorCode, KafkaError
from tests.broker.coordinator.group.rig import GROUP, SESSION_MS, TOPIC_ID, Groups


def code(answer: Any) -> int:
    if isinstance(answer, KafkaError):
        return answer.code
    (only,) = answer
    return int(only)


def test_a_commit_is_kept_with_everything_that_came_with_it() -> None:
    groups = Groups()
    assert groups.commit(7, metadata="note") == [ErrorCode.NONE]
    now_ms = groups.clock.now_ms()
    expected = CommittedOffset(7, 3, "note", now_ms, -1, TOPIC_ID)
    assert groups.fetch()[0].committed == expected
    groups.reload()
    assert groups.fetch()[0].committed == expected


def test_a_simple_group_has_no_members_and_is_a_group_all_the_same() -> None:
    groups = Groups()
    groups.commit(7)
    assert groups.group.state is ClassicState.EMPTY
    assert groups.group.protocol_type is None


@pytest.mark.parametrize("offset", [0, -5, 1 << 62])
def test_any_offset_will_do(offset: int) -> None:
    groups = Groups()
    groups.commit(offset)
    assert groups.offset() == offset


def test_the_last_commit_counts() -> None:
    groups = Groups()
    for offset in (5, 9, 2):
        groups.commit(offset)
    assert groups.offset() == 2
    groups.reload()
    assert groups.offset() == 2


class TestStrangers:
    @pytest.mark.parametrize(("version", "refusal"), [(8, 22), (9, 69)])
    def test_a_generation_of_an_unknown_group(self, version: int, refusal: int) -> None:
        answer = Groups().commit(7, generation_id=5, api_version=version)
        assert code(answer) == refusal

    def test_any_member_id_without_a_generation_in_an_empty_group(self) -> None:
        assert code(Groups().commit(7, member_id="whoever")) == ErrorCode.NONE

    def test_nobody_in_particular_in_a_group_with_members(self) -> None:
        groups = Groups()
        groups.stable("a")
        assert code(groups.commit(7)) == ErrorCode.UNKNOWN_MEMBER_ID

    def test_an_unknown_member(self) -> None:
        groups = Groups()
        groups.stable("a")
        answer = groups.commit(7, generation_id=1, member_id="b")
        assert code(answer) == ErrorCode.UNKNOWN_MEMBER_ID

    def test_another_generation(self) -> None:
        groups = Groups()
        (member,) = groups.stable("a")
        answer = groups.commit(7, generation_id=0, member_id=member)
        assert code(answer) == ErrorCode.ILLEGAL_GENERATION

    def test_a_fenced_instance(self) -> None:
        groups = Groups()
        parked = groups.join(instance="one")
        groups.clock.advance(0)
        groups.settle([parked.result().member_id])
        answer = groups.commit(
            7, generation_id=1, member_id="one-old", group_instance_id="one"
        )
        assert code(answer) == ErrorCode.FENCED_INSTANCE_ID

    def test_the_empty_group_id(self) -> None:
        assert code(Groups().commit(7, group_id="")) == ErrorCode.NONE


class TestMembers:
    def test_in_a_stable_group(self) -> None:
        groups = Groups()
        (member,) = groups.stable("a")
        answer = groups.commit(7, generation_id=1, member_id=member)
        assert code(answer) == ErrorCode.NONE

    def test_while_the_group_prepares_a_rebalance(self) -> None:
        groups = Groups()
        leader, follower = groups.stable("a", "b")
        groups.join(leader)
        answer = groups.commit(7, generation_id=1, member_id=follower)
        assert code(answer) == ErrorCode.NONE

    def test_while_the_assignment_is_awaited(self) -> None:
        groups = Groups()
        (joined,) = groups.joined("a")
        answer = groups.commit(7, generation_id=1, member_id=joined.member_id)
        assert code(answer) == ErrorCode.REBALANCE_IN_PROGRESS

    def test_a_commit_renews_the_session(self) -> None:
        groups = Groups()
        (member,) = groups.stable("a")
        groups.clock.advance(SESSION_MS - 1)
        groups.commit(7, generation_id=1, member_id=member)
        groups.clock.advance(SESSION_MS - 1)
        assert member in groups.group.members
        groups.clock.advance(1)
        assert member not in groups.group.members


def test_a_note_that_is_too_long_is_refused_alone() -> None:
    groups = Groups(offset_metadata_max_bytes=4)
    assert groups.commit(7, metadata="four") == [ErrorCode.NONE]
    refused = groups.commit(8, metadata="fives", places=[("t", 0), ("t", 1)])
    assert refused == [ErrorCode.OFFSET_METADATA_TOO_LARGE] * 2
    assert groups.offset() == 7


def test_a_failed_append_keeps_the_old_offset() -> None:
    groups = Groups()
    groups.commit(7)
    groups.fail_appends()
    assert code(groups.commit(8)) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert groups.offset() == 7


def test_a_retention_of_its_own_is_kept() -> None:
    groups = Groups()
    groups.commit(7, retention_ms=1000)
    groups.reload()
    committed = groups.state.offsets.get(GROUP, "t", 0)
    assert committed is not None
    assert committed.expire_timestamp == groups.clock.now_ms() + 1000


@pytest.mark.parametrize(
    ("note", "refusal"), [("éééé", 0), ("𝄞𝄞", 0), ("𝄞𝄞x", 12), ("xxxxx", 12)]
)
def test_the_length_of_a_note_is_counted_as_kafka_does(note: str, refusal: int) -> None:
    """In units of UTF-16, whatever the option's name says."""
    groups = Groups(offset_metadata_max_bytes=4)
    assert code(groups.commit(7, metadata=note)) == refusal

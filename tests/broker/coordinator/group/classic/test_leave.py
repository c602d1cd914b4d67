import pytest

from odradek.broker.coordinator.group.classic.leave import decide_leave
from odradek.broker.coordinator.group.state.classic_states import ClassicState
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import MemberIdentity
from tests.broker.coordinator.group.rig import GROUP, Groups


def test_who_leaves_is_gone_and_the_others_rebalance() -> None:
    groups = Groups()
    leader, follower = groups.stable("a", "b")
    assert groups.leave(leader) == [ErrorCode.NONE]
    assert groups.group.state is ClassicState.PREPARING_REBALANCE
    assert groups.group.is_leader(follower)
    answer = groups.join(follower)
    assert answer.result().generation_id == 2


def test_many_leave_at_once_each_with_its_own_code() -> None:
    groups = Groups()
    first, second = groups.stable("a", "b")
    assert groups.leave(first, "stranger", second) == [0, 25, 0]
    assert groups.group.state is ClassicState.EMPTY


def test_an_unknown_group() -> None:
    assert Groups().leave("a") == [ErrorCode.UNKNOWN_MEMBER_ID]


def test_a_pending_member_may_leave() -> None:
    groups = Groups()
    (member,) = groups.stable("a")
    pending = groups.join(must_know_its_id=True).member_id
    rejoined = groups.join(member)
    assert groups.leave(pending) == [ErrorCode.NONE]
    assert rejoined.result().generation_id == 2


def test_so_may_one_that_says_a_name_by_now() -> None:
    groups = Groups()
    pending = groups.join(must_know_its_id=True).member_id
    assert groups.leave(pending, instance="one") == [ErrorCode.NONE]
    assert groups.group.pending_join_ids == set()


def test_the_last_one_that_is_awaited_leaves() -> None:
    groups = Groups()
    leader, follower = groups.stable("a", "b")
    rejoined = groups.join(leader)
    groups.leave(follower)
    assert rejoined.result().generation_id == 2


def test_a_join_that_waits_is_answered_when_its_member_leaves() -> None:
    groups = Groups()
    leader, _ = groups.stable("a", "b")
    rejoined = groups.join(leader)
    groups.leave(leader)
    assert rejoined.result().error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_leaves_by_its_name() -> None:
    groups = Groups()
    member = groups.join(instance="one")
    groups.clock.advance(0)
    member_id = member.result().member_id
    assert groups.leave("", instance="two") == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert groups.leave("other", instance="one") == [ErrorCode.FENCED_INSTANCE_ID]
    assert groups.leave(member_id, instance="one") == [ErrorCode.NONE]
    assert groups.group.static_members == {}


def test_the_reason_of_a_client_is_told(caplog: pytest.LogCaptureFixture) -> None:
    groups = Groups()
    (member,) = groups.stable("a")
    leaving = [MemberIdentity(member_id=member, reason="the consumer is being closed")]
    with caplog.at_level("INFO"):
        groups.decide(lambda shard: decide_leave(shard, GROUP, leaving))
    assert f"{member} has left: the consumer is being closed;" in caplog.text

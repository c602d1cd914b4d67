"""Timers, records and failures behind a rebalance; its course is in ``scenarios``."""

from odradek.broker.coordinator.group.administration import decide_delete
from odradek.broker.coordinator.group.classic.rebalance import keep_session
from odradek.broker.coordinator.group.state.classic_states import ClassicState
from odradek.protocol.errors import ErrorCode
from tests.broker.coordinator.group.rig import GROUP, SESSION_MS, Groups


def test_a_deleted_group_leaves_no_timer_that_does_anything() -> None:
    groups = Groups()
    pending = groups.join(must_know_its_id=True).member_id
    assert groups.decide(lambda shard: decide_delete(shard, GROUP)) == ErrorCode.NONE
    assert groups.state.group(GROUP) is None
    groups.clock.advance(SESSION_MS)
    assert groups.state.group(GROUP) is None
    assert len(groups.fake.timers) == 0
    assert groups.join(pending).code == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_empty_group_has_no_timers() -> None:
    groups = Groups()
    groups.leave(*groups.stable("a", "b"))
    assert groups.group.state is ClassicState.EMPTY
    assert len(groups.fake.timers) == 0


def test_one_assignment_of_a_generation_is_written() -> None:
    groups = Groups()
    (leader,) = (each.member_id for each in groups.joined("a"))
    before = len(groups.fake.log)
    answers = [groups.sync(leader, {leader: given}) for given in (b"1", b"2")]
    assert len(groups.fake.log) == before + 1
    groups.flush()
    assert answers[0].result().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert answers[1].result().assignment == b"1"
    groups.join(leader)
    answer = groups.sync(leader, {leader: b"3"})
    groups.flush()
    assert answer.result().assignment == b"3"


def test_after_a_failed_record_the_next_generation_is_written() -> None:
    groups = Groups()
    (leader,) = (each.member_id for each in groups.joined("a"))
    groups.fail_appends()
    for generation in (2, 3):
        answer = groups.sync(leader, {leader: b"1"})
        assert answer.result().error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert groups.join(leader).result().generation_id == generation
    groups.fake.refusal = None
    answer = groups.sync(leader, {leader: b"1"})
    groups.flush()
    assert answer.result().assignment == b"1"


def test_bytes_of_requests_are_not_held() -> None:
    """Members and assignments outlive the buffers that they came in."""
    groups = Groups()
    protocols = (("range", b"metadata"),)
    answer = groups.join(protocols=protocols)
    groups.clock.advance(0)
    member_id = answer.result().member_id
    buffer = bytearray(b"assignment")
    groups.sync(member_id, {member_id: memoryview(buffer)})
    groups.flush()
    buffer[:] = bytes(len(buffer))
    member = groups.group.members[member_id]
    assert type(member.assignment) is bytes
    assert member.assignment == b"assignment"


def test_an_empty_generation_that_cannot_be_written_is_one_all_the_same() -> None:
    groups = Groups()
    (member,) = groups.stable("a")
    groups.fail_appends()
    groups.leave(member)
    assert groups.group.state is ClassicState.EMPTY
    assert groups.group.generation_id == 2
    groups.fake.refusal = None
    groups.reload()
    assert groups.group.state is ClassicState.STABLE  # as it was last stored
    groups.clock.advance(SESSION_MS)
    assert groups.group.state is ClassicState.EMPTY
    assert groups.group.generation_id == 2


def test_a_new_member_may_wait_longer_than_its_session() -> None:
    groups = Groups()
    (leader,) = groups.stable("a")
    new = groups.join(client_id="b")
    for _ in range(3):
        groups.clock.advance(SESSION_MS - 1)
        groups.beat(leader)
    assert not new.done()
    groups.join(leader)
    assert new.result().generation_id == 2


def test_a_session_that_is_kept_lasts_from_then_on() -> None:
    groups = Groups()
    (member_id,) = groups.stable("a")
    member = groups.group.members[member_id]
    groups.clock.advance(SESSION_MS - 1)
    keep_session(groups.state, groups.group, member, 500)
    groups.clock.advance(SESSION_MS + 499)
    assert member_id in groups.group.members
    groups.clock.advance(1)
    assert member_id not in groups.group.members
    keep_session(groups.state, groups.group, member, 0)
    assert len(groups.fake.timers) == 0, "none is begun for who has gone"

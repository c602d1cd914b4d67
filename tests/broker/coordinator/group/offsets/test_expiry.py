"""T155 offset_expiry_bases: when an offset's time begins depends on its group."""

from odradek.broker.coordinator.decision import Place
from odradek.broker.coordinator.group.offsets.expiry import (
    MINUTE_MS,
    decide_expiry,
    decide_forget_topic,
)
from odradek.broker.coordinator.group.state.records import CommittedOffset, OffsetRecord
from tests.broker.coordinator.group.rig import GROUP, TOPIC_ID, Groups
from tests.broker.coordinator.group.test_administration import subscription

RETENTION_MINUTES = 10
RETENTION_MS = RETENTION_MINUTES * MINUTE_MS


def new_groups() -> Groups:
    return Groups(offsets_retention_minutes=RETENTION_MINUTES)


def expire(groups: Groups) -> None:
    groups.decide(decide_expiry)


def read(groups: Groups, *topics: str) -> str:
    """A stable member that reads these topics."""
    parked = groups.join(protocols=(("range", subscription(*topics)),))
    groups.clock.advance(0)
    member_id: str = parked.result().member_id
    groups.settle([member_id])
    return member_id


def alive(groups: Groups, member_id: str, for_ms: int) -> None:
    for _ in range(for_ms // 5000):
        groups.beat(member_id)
        groups.clock.advance(5000)


def test_t155_simple_group_from_each_commit() -> None:
    groups = new_groups()
    groups.commit(1)
    groups.clock.advance(RETENTION_MS - 1)
    groups.commit(2, places=[("t", 1)])
    expire(groups)
    assert groups.offset() == 1
    groups.clock.advance(1)
    expire(groups)
    assert groups.offset() == -1
    assert groups.offset("t", 1) == 2
    groups.clock.advance(RETENTION_MS)
    expire(groups)
    assert groups.state.group(GROUP) is None


def test_t155_empty_group_from_when_it_became_empty() -> None:
    groups = new_groups()
    member = read(groups, "t")
    groups.commit(1, generation_id=1, member_id=member)
    alive(groups, member, RETENTION_MS)
    groups.leave(member)
    expire(groups)
    assert groups.offset() == 1
    groups.clock.advance(RETENTION_MS)
    expire(groups)
    assert groups.state.group(GROUP) is None
    groups.reload()
    assert groups.state.group(GROUP) is None


def test_t155_subscribed_topic_kept_others_from_their_commit() -> None:
    groups = new_groups()
    member = read(groups, "t")
    groups.commit(1, generation_id=1, member_id=member, places=[("t", 0), ("u", 0)])
    alive(groups, member, RETENTION_MS)
    expire(groups)
    assert groups.offset("t") == 1
    assert groups.offset("u") == -1
    assert groups.group.members


def test_nothing_expires_during_a_rebalance() -> None:
    groups = new_groups()
    member = read(groups, "t")
    groups.commit(1, generation_id=1, member_id=member, places=[("u", 0)])
    alive(groups, member, RETENTION_MS)
    groups.join(must_know_its_id=True)
    groups.join(member, protocols=(("range", subscription("t", "v")),))
    expire(groups)
    assert groups.offset("u") == 1


def test_members_that_are_no_consumers_keep_everything() -> None:
    groups = new_groups()
    parked = groups.join(protocol_type="connect")
    groups.clock.advance(0)
    member = parked.result().member_id
    groups.settle([member])
    groups.commit(1, generation_id=1, member_id=member)
    alive(groups, member, RETENTION_MS)
    expire(groups)
    assert groups.offset() == 1


def test_a_retention_of_its_own_overrides() -> None:
    groups = new_groups()
    groups.commit(1, retention_ms=5)
    groups.commit(1, retention_ms=2 * RETENTION_MS, places=[("t", 1)])
    groups.clock.advance(5)
    expire(groups)
    assert groups.offset() == -1
    groups.clock.advance(RETENTION_MS)
    expire(groups)
    assert groups.offset("t", 1) == 1


def test_a_pending_offset_keeps_what_it_would_move() -> None:
    groups = new_groups()
    groups.commit(1)
    groups.in_transaction(5, 9)
    groups.clock.advance(RETENTION_MS)
    expire(groups)
    assert groups.offset() == 1
    groups.end_transaction(5, is_commit=False)
    expire(groups)
    assert groups.state.group(GROUP) is None


def test_a_group_that_waits_for_a_pending_member_stays() -> None:
    groups = new_groups()
    groups.join(must_know_its_id=True)
    expire(groups)
    assert groups.state.group(GROUP) is not None


def test_offsets_of_deleted_topics_go() -> None:
    groups = new_groups()
    groups.commit(1, places=[("t", 0), ("t", 1), ("u", 0)])
    groups.commit(2, group_id="other")
    groups.in_transaction(5, 9)
    groups.decide(lambda shard: decide_forget_topic(shard, "t", None))
    groups.end_transaction(5, is_commit=True)
    assert groups.offset("t") == groups.offset("t", 1) == -1
    assert groups.fetch(group_id="other")[0].committed.offset == -1
    assert groups.offset("u") == 1


def test_offsets_of_a_topic_of_the_same_name_stay() -> None:
    groups = new_groups()
    groups.commit(1)
    groups.decide(lambda shard: decide_forget_topic(shard, "t", bytes(16)))
    assert groups.offset() == 1
    groups.decide(lambda shard: decide_forget_topic(shard, "t", TOPIC_ID))
    assert groups.offset() == -1


def forget_topic(groups: Groups, topic_id: bytes) -> None:
    groups.decide(lambda shard: decide_forget_topic(shard, "t", topic_id))


def test_of_a_deleted_topic_what_is_pending_goes_by_its_id_too() -> None:
    groups = new_groups()
    groups.txn_commit(1)
    forget_topic(groups, bytes(16))
    assert groups.fetch(require_stable=True)[0].error_code == 88
    forget_topic(groups, TOPIC_ID)
    groups.end_transaction(5, is_commit=True)
    assert groups.offset() == -1


def test_what_is_pending_for_a_topic_of_the_same_name_is_kept() -> None:
    """A tombstone would take both, the one of the deleted topic and the other."""
    groups = new_groups()
    old = CommittedOffset(7, topic_id=bytes(15) + b"o")
    groups.state.replay(OffsetRecord(GROUP, "t", 0, old), Place(-1, 0))
    groups.txn_commit(1)
    forget_topic(groups, old.topic_id)
    groups.end_transaction(5, is_commit=True)
    assert groups.offset() == 1


def test_a_pending_offset_alone_keeps_its_group() -> None:
    groups = new_groups()
    groups.txn_commit(1)
    groups.clock.advance(2 * RETENTION_MS)
    expire(groups)
    assert groups.state.group(GROUP) is not None
    groups.end_transaction(5, is_commit=True)
    expire(groups)  # committed long ago, whenever its transaction ends
    assert groups.state.group(GROUP) is None

"""Offsets that nobody needs any more: too old, or of topics that are gone.

When an offset's time begins depends on its group: an empty group's offsets age
together, from when it became empty; those of a group with members only where no
member reads the topic; those of who never joined, each from its commit, and so those
of consumer groups (KIP-848) and of streams groups (KIP-1071).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.gone import group_gone
from odradek.broker.coordinator.group.state.classic_group import ClassicGroup
from odradek.broker.coordinator.group.state.classic_states import ClassicState
from odradek.broker.coordinator.group.state.records import (
    NO_EXPIRY,
    OffsetRecord,
)
from odradek.broker.coordinator.group.state.subscription import topics_read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from odradek.broker.coordinator.decision import CoordinatorRecord
    from odradek.broker.coordinator.group.state.consumer.group import ConsumerGroup
    from odradek.broker.coordinator.group.state.records import CommittedOffset
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.streams.group import StreamsGroup

    Expiring = ClassicGroup | ConsumerGroup | StreamsGroup

MINUTE_MS = 60_000


def decide_expiry(shard: GroupShard) -> Decision:
    """Drop what has expired, and the empty groups that have nothing left."""
    now_ms = shard.clock.now_ms()
    retention_ms = shard.config.offsets_retention_minutes * MINUTE_MS
    records: list[CoordinatorRecord] = []
    # A share group never expires: its places are kept elsewhere.
    groups: list[Expiring] = [
        *shard.groups.values(),
        *shard.consumer_groups.values(),
        *shard.streams_groups.values(),
    ]
    for group in groups:
        records += _expired(shard, group, now_ms, retention_ms)
    return Decision(records=records)


def _expired(
    shard: GroupShard, group: Expiring, now_ms: int, retention_ms: int
) -> Iterable[CoordinatorRecord]:
    group_id, offsets = group.group_id, shard.offsets
    committed = offsets.of_group(group_id)
    has_expired = _rule(group, now_ms, retention_ms)
    gone = [
        (topic, partition)
        for (topic, partition), each in committed.items()
        if has_expired(topic, each)
        and not offsets.is_pending(group_id, topic, partition)
    ]
    for topic, partition in gone:
        yield OffsetRecord(group_id, topic, partition, None)
    is_left = len(gone) < len(committed) or any(offsets.pending_of_group(group_id))
    if is_left or not group.is_empty:
        return
    if not (isinstance(group, ClassicGroup) and group.pending_join_ids):
        yield from group_gone(shard, group_id)


def _rule(
    group: Expiring, now_ms: int, retention_ms: int
) -> Callable[[str, CommittedOffset], bool]:
    """Whether an offset of this group, in this topic, has expired."""

    def has_expired(each: CommittedOffset, since_ms: int) -> bool:
        if each.expire_timestamp != NO_EXPIRY:  # as old clients may ask for
            return now_ms >= each.expire_timestamp
        return now_ms - since_ms >= retention_ms

    if isinstance(group, ClassicGroup) and group.is_in(ClassicState.EMPTY):
        if group.protocol_type is None:
            return lambda _, each: has_expired(each, each.commit_timestamp)
        since_ms = group.state_timestamp
        if since_ms < 0:  # records of old brokers do not say
            return lambda _, each: has_expired(each, each.commit_timestamp)
        return lambda _, each: has_expired(each, since_ms)
    if not isinstance(group, ClassicGroup) or group.is_in(ClassicState.STABLE):
        read = topics_read(group)
        if read is not None:
            return lambda topic, each: (
                topic not in read and has_expired(each, each.commit_timestamp)
            )
    return lambda _, each: False


def decide_forget_topic(
    shard: GroupShard, topic: str, topic_id: bytes | None
) -> Decision:
    """Drop every offset of a topic that was deleted; with an id, only those of it.

    A tombstone takes all that a group has of a partition, so what it has of a later
    topic of this name keeps the rest, which nobody is told any more.
    """
    offsets = shard.offsets
    records: list[CoordinatorRecord] = [
        OffsetRecord(group_id, topic, partition, None)
        for group_id, partition in offsets.of_topic(topic)
        if topic_id is None
        or offsets.topic_ids(group_id, topic, partition) == {topic_id}
    ]
    if shard.share_groups:
        from odradek.broker.coordinator.group.share.removal import forget_topic

        records += forget_topic(shard, topic, topic_id)
    return Decision(records=records)

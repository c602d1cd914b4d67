"""A consumer group without members is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.state.consumer import records
from odradek.protocol.errors import UnknownMemberId

from .draft import Draft

if TYPE_CHECKING:
    from odradek.broker.coordinator.decision import CoordinatorRecord
    from odradek.broker.coordinator.group.state.consumer.group import ConsumerGroup
    from odradek.broker.coordinator.group.state.shard import GroupShard


NO_MEMBER_ID = ""


def make_way(shard: GroupShard, group: ConsumerGroup, member_id: str) -> None:
    """Forget an empty group, for a classic one with a new member; its offsets stay.

    Raises:
        UnknownMemberId: who joins says to be a member already.
        KafkaError: that cannot be written.
    """
    assert group.is_empty, group
    if member_id != NO_MEMBER_ID:
        raise UnknownMemberId
    shard.carry_out(Decision(records=records_gone(shard, group)))


def records_gone(shard: GroupShard, group: ConsumerGroup) -> list[CoordinatorRecord]:
    """Tombstones for all that is written of a group; its members go, too."""
    draft = Draft(shard, group)
    for member_id in group.members:
        draft.remove(member_id)
    # Of members that are gone nothing is left, if all went as it should.
    for member_id in group.targets.keys() - group.members.keys():
        draft.put(records.TARGET_KEY, member_id)
    for pattern in group.patterns:
        draft.put(records.PATTERN_KEY, pattern)
    draft.put(records.TARGET_EPOCH_KEY)
    if group.is_described_as_before_41:
        draft.put(records.OLD_TOPICS_KEY)
    draft.put(records.EPOCH_KEY)
    return draft.records

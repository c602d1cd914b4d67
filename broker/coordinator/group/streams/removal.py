"""A streams group without members is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.consumer.removal import NO_MEMBER_ID
from odradek.broker.coordinator.group.state.streams import records
from odradek.protocol.errors import InconsistentGroupProtocol, UnknownMemberId

from .draft import StreamsDraft
from .tasks.target import delay_key

if TYPE_CHECKING:
    from odradek.broker.coordinator.decision import CoordinatorRecord
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.streams.group import StreamsGroup


def make_way(shard: GroupShard, group: StreamsGroup, member_id: str) -> None:
    """Forget an empty group, for a classic one with a new member; its offsets stay.

    Raises:
        InconsistentGroupProtocol: it has members.
        UnknownMemberId: who joins says to be a member already.
        KafkaError: that cannot be written.
    """
    if not group.is_empty:
        raise InconsistentGroupProtocol
    if member_id != NO_MEMBER_ID:
        raise UnknownMemberId
    shard.carry_out(Decision(records=records_gone(shard, group)))


def records_gone(shard: GroupShard, group: StreamsGroup) -> list[CoordinatorRecord]:
    """Tombstones for all that is written of a group without members."""
    shard.timers.cancel(delay_key(group.group_id))
    draft = StreamsDraft(shard, group)
    # Of members that are gone nothing is left, if all went as it should.
    for member_id in group.targets:
        draft.put(records.TARGET_KEY, member_id)
    draft.put(records.TARGET_EPOCH_KEY)
    draft.put(records.EPOCH_KEY)
    draft.put(records.TOPOLOGY_KEY)
    return draft.records

"""A member leaves a consumer group: for good, or for a while, as static ones may."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.state.consumer import records
from odradek.broker.coordinator.group.state.consumer.member import (
    LEFT_EPOCH,
    LEFT_FOR_A_WHILE_EPOCH,
    NOTHING_HELD,
)

from .answers import left_answer
from .draft import Draft
from .fencing import fence, tell
from .finding import check_instance, known_group, known_member
from .sessions import await_revocation

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.consumer.group import ConsumerGroup
    from odradek.broker.coordinator.group.state.consumer.member import ConsumerMember
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.protocol.messages.consumer_groups import (
        ConsumerGroupHeartbeatRequest,
    )


def decide_leaving(
    shard: GroupShard, request: ConsumerGroupHeartbeatRequest
) -> Decision:
    """Let a member go: others get what it had, or it is kept for its return.

    Raises:
        GroupIdNotFound, UnknownMemberId, FencedInstanceId.
    """
    group = known_group(shard, request.group_id)
    if request.instance_id is None:
        member = known_member(group, request.member_id)
    else:
        member = check_instance(group, request.instance_id, request.member_id)
    if request.member_epoch == LEFT_FOR_A_WHILE_EPOCH:
        return _leave_for_a_while(shard, group, member)
    tell(group.group_id, group.epoch, f"{member.label} has left")
    decision = fence(shard, group, member.member_id)
    decision.response = left_answer(member.member_id, LEFT_EPOCH)
    # If that is lost, its session ends. The last one may leave a classic group behind.
    decision.may_be_lost = member.info.instance_id is None and decision.then is None
    return decision


def _leave_for_a_while(
    shard: GroupShard, group: ConsumerGroup, member: ConsumerMember
) -> Decision:
    """Keep what it has; its session goes on, and the group does not notice."""
    tell(group.group_id, group.epoch, f"{member.label} has left for a while")
    kept = {
        topic_id: dict.fromkeys(partitions, 0)
        for topic_id, partitions in member.holding.assigned.items()
    }
    holding = member.holding._replace(
        epoch=LEFT_FOR_A_WHILE_EPOCH, assigned=kept, pending=NOTHING_HELD
    )
    draft = Draft(shard, group)
    draft.put(records.HOLDING_KEY, member.member_id, holding)
    # In no state does it have to give anything up now: it has nothing.
    await_revocation(
        shard,
        group.group_id,
        member.member_id,
        member.info,
        holding._replace(state=0),
    )
    return Decision(
        left_answer(member.member_id, LEFT_FOR_A_WHILE_EPOCH), draft.records
    )

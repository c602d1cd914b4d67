"""LeaveGroup of a consumer group: how administrators remove members of any protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.consumer.fencing import fence, tell
from odradek.broker.coordinator.group.consumer.finding import (
    known_member,
)
from odradek.broker.coordinator.group.known import unknown_member
from odradek.protocol.errors import ErrorCode, FencedInstanceId, KafkaError
from odradek.protocol.messages.groups import LeaveGroupResponse, MemberResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.broker.coordinator.group.state.consumer.group import ConsumerGroup
    from odradek.broker.coordinator.group.state.consumer.member import ConsumerMember
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.protocol.messages.groups import MemberIdentity

NO_MEMBER_ID = ""
_WITHOUT_REASON = "it was closed, or has unsubscribed"


def decide_classic_leave(
    shard: GroupShard, group_id: str, members: Sequence[MemberIdentity]
) -> Decision:
    """Let members go; each is told on its own how that went."""
    group = shard.consumer_groups[group_id]
    leaving: dict[str, ConsumerMember] = {}
    responses = []
    for each in members:
        code = ErrorCode.NONE
        try:
            member = _found(group, each)
            if member.member_id in leaving:
                raise unknown_member(group_id, member.member_id)
            leaving[member.member_id] = member
            why = each.reason or _WITHOUT_REASON
            tell(group_id, group.epoch, f"{member.label} has left: {why}")
        except KafkaError as error:
            code = error.code
        responses.append(
            MemberResponse(
                member_id=each.member_id,
                group_instance_id=each.group_instance_id,
                error_code=code,
            )
        )
    decision = fence(shard, group, *leaving) if leaving else Decision()
    decision.response = LeaveGroupResponse(error_code=ErrorCode.NONE, members=responses)
    return decision


def _found(group: ConsumerGroup, leaving: MemberIdentity) -> ConsumerMember:
    """The member; who makes a static one leave need not know its member id."""
    instance_id, member_id = leaving.group_instance_id, leaving.member_id
    if instance_id is None:
        return known_member(group, member_id)
    member = group.static_member(instance_id)
    if member is None:
        raise unknown_member(group.group_id, instance_id)
    if member_id not in (NO_MEMBER_ID, member.member_id):
        raise FencedInstanceId
    return member

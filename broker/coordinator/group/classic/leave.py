"""LeaveGroup: members go, one or many at once (KIP-345)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.state.classic_states import ClassicState
from odradek.protocol.errors import (
    CoordinatorNotAvailable,
    ErrorCode,
    FencedInstanceId,
    KafkaError,
    UnknownMemberId,
)
from odradek.protocol.messages.groups import LeaveGroupResponse, MemberResponse

from .rebalance import remove_member, remove_pending_member
from .validation import check_member

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.broker.coordinator.group.state.classic_group import ClassicGroup
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.protocol.messages.groups import MemberIdentity

NO_MEMBER_ID = ""
_WITHOUT_REASON = "it was closed, or has unsubscribed"


def decide_leave(
    shard: GroupShard, group_id: str, members: Sequence[MemberIdentity]
) -> Decision:
    """Let members go; each is told on its own how that went.

    Raises:
        CoordinatorNotAvailable: the group was deleted.
    """
    group = shard.group(group_id)
    if group is not None and group.is_in(ClassicState.DEAD):
        raise CoordinatorNotAvailable
    responses = [
        MemberResponse(
            member_id=each.member_id,
            group_instance_id=each.group_instance_id,
            error_code=_leave(shard, group, each),
        )
        for each in members
    ]
    response = LeaveGroupResponse(error_code=ErrorCode.NONE, members=responses)
    return Decision(response, reads_state=True)  # who is the last leaves a record


def _leave(
    shard: GroupShard, group: ClassicGroup | None, leaving: MemberIdentity
) -> int:
    try:
        if group is None:
            raise UnknownMemberId
        member_id = leaving.member_id
        if member_id in group.pending_join_ids:
            remove_pending_member(shard, group, member_id)
            return ErrorCode.NONE
        if leaving.group_instance_id is not None:
            member_id = _static_id(group, leaving.group_instance_id, member_id)
        member = check_member(group, member_id, leaving.group_instance_id)
        why = leaving.reason or _WITHOUT_REASON
        remove_member(shard, group, member, f"{member.label} has left: {why}")
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


def _static_id(group: ClassicGroup, instance_id: str, member_id: str) -> str:
    """The id of a static member, which whoever makes it leave need not know."""
    known_id = group.static_members.get(instance_id)
    if known_id is None:
        raise UnknownMemberId
    if member_id not in (NO_MEMBER_ID, known_id):
        raise FencedInstanceId
    return known_id

"""The answers to members of classic groups, at once or when they were parked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import (
    JoinGroupResponse,
    JoinGroupResponseMember,
    SyncGroupResponse,
)

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.classic_group import ClassicGroup
    from odradek.broker.coordinator.group.state.classic_member import ClassicMember

NO_GENERATION = -1


def refused_join(code: int, member_id: str = "") -> JoinGroupResponse:
    """No membership; perhaps an id to try again with."""
    return JoinGroupResponse(
        error_code=code,
        generation_id=NO_GENERATION,
        protocol_name="",
        member_id=member_id,
    )


def joined(
    group: ClassicGroup,
    member: ClassicMember,
    *,
    leader_id: str | None = None,
    with_members: bool | None = None,
    skip_assignment: bool = False,
) -> JoinGroupResponse:
    """The generation that the member is in; its leader is told all members."""
    if with_members is None:
        with_members = group.is_leader(member.member_id)
    return JoinGroupResponse(
        error_code=ErrorCode.NONE,
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=leader_id if leader_id is not None else group.leader_id or "",
        skip_assignment=skip_assignment,
        member_id=member.member_id,
        members=_members(group) if with_members else [],
    )


def _members(group: ClassicGroup) -> list[JoinGroupResponseMember]:
    protocol = group.protocol_name or ""
    return [
        JoinGroupResponseMember(
            member_id=each.member_id,
            group_instance_id=each.group_instance_id,
            metadata=each.metadata_for(protocol),
        )
        for each in group.members.values()
    ]


def refused_sync(code: int) -> SyncGroupResponse:
    """No assignment."""
    return SyncGroupResponse(error_code=code, assignment=b"")


def synced(group: ClassicGroup, member: ClassicMember) -> SyncGroupResponse:
    """The assignment of the member."""
    return SyncGroupResponse(
        error_code=ErrorCode.NONE,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=member.assignment,
    )


def answer_join(member: ClassicMember, response: JoinGroupResponse) -> bool:
    """Answer a member that waits for a rebalance. Returns whether it does."""
    parked, member.awaiting_join = member.awaiting_join, None
    if parked is None:
        return False
    if not parked.done():
        parked.set_result(response)
    return True


def answer_sync(member: ClassicMember, response: SyncGroupResponse) -> bool:
    """Answer a member that waits for its assignment. Returns whether it does."""
    parked, member.awaiting_sync = member.awaiting_sync, None
    if parked is None:
        return False
    if not parked.done():
        parked.set_result(response)
    return True

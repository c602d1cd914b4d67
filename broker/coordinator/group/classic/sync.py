"""SyncGroup and Heartbeat: members get their assignment, and stay alive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.state.classic_states import ClassicState
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode, RebalanceInProgress, UnknownMemberId
from odradek.protocol.messages.groups import HeartbeatResponse

from .answers import answer_sync, refused_sync, synced
from .rebalance import assign, note_sync, renew_session
from .validation import check_generation, check_member, check_protocol, known_group

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.protocol.messages.groups import HeartbeatRequest, SyncGroupRequest


def decide_sync(shard: GroupShard, request: SyncGroupRequest) -> Decision:
    """Give a member its assignment, once the leader has brought it.

    Raises:
        UnknownMemberId, FencedInstanceId, IllegalGeneration, RebalanceInProgress,
        InconsistentGroupProtocol, CoordinatorNotAvailable.
    """
    group = known_group(shard, request.group_id)
    member = check_member(group, request.member_id, request.group_instance_id)
    check_generation(group, request.generation_id)
    check_protocol(group, request.protocol_type, request.protocol_name)
    if group.is_in(ClassicState.PREPARING_REBALANCE):
        raise RebalanceInProgress
    if group.is_in(ClassicState.EMPTY):
        raise UnknownMemberId
    note_sync(shard, group, member.member_id)
    if group.is_in(ClassicState.STABLE):
        renew_session(shard, group, member)
        return Decision(synced(group, member), reads_state=True)
    # Who asks again has given up on its first question.
    answer_sync(member, refused_sync(ErrorCode.REBALANCE_IN_PROGRESS))
    answer = member.awaiting_sync = Parked()
    if group.is_leader(member.member_id):
        given = {each.member_id: bytes(each.assignment) for each in request.assignments}
        assign(shard, group, given)
    return Decision(answer)


def decide_heartbeat(shard: GroupShard, request: HeartbeatRequest) -> Decision:
    """Let a member's session go on; while it is asked to join again, say so.

    Raises:
        UnknownMemberId, FencedInstanceId, IllegalGeneration, RebalanceInProgress,
        CoordinatorNotAvailable.
    """
    group = known_group(shard, request.group_id)
    if group.is_in(ClassicState.EMPTY):
        raise UnknownMemberId
    member = check_member(group, request.member_id, request.group_instance_id)
    check_generation(group, request.generation_id)
    renew_session(shard, group, member)
    if group.is_in(ClassicState.PREPARING_REBALANCE):
        raise RebalanceInProgress
    return Decision(HeartbeatResponse(error_code=ErrorCode.NONE))

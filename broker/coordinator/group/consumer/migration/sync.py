"""SyncGroup and Heartbeat of a consumer group: members of the classic protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.consumer.draft import Draft
from odradek.broker.coordinator.group.consumer.finding import (
    check_instance,
    known_member,
)
from odradek.broker.coordinator.group.consumer.sessions import (
    await_join,
    note_sync,
    renew_session,
)
from odradek.broker.coordinator.group.known import unknown_member
from odradek.broker.coordinator.group.state.consumer.member import (
    HoldingState,
    partitions_of,
)
from odradek.protocol.consumer_protocol import PROTOCOL_TYPE
from odradek.protocol.errors import (
    ErrorCode,
    IllegalGeneration,
    InconsistentGroupProtocol,
    RebalanceInProgress,
)
from odradek.protocol.messages.groups import HeartbeatResponse, SyncGroupResponse

from .embedded import embedded_assignment

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.consumer.group import ConsumerGroup
    from odradek.broker.coordinator.group.state.consumer.member import (
        ClassicPart,
        ConsumerMember,
    )
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.protocol.messages.groups import HeartbeatRequest, SyncGroupRequest


def decide_mixed_sync(shard: GroupShard, request: SyncGroupRequest) -> Decision:
    """Tell a member what it may read.

    Raises:
        UnknownMemberId, FencedInstanceId, IllegalGeneration, RebalanceInProgress,
        InconsistentGroupProtocol.
    """
    group, member, classic = _member(shard, request)
    name, metadata = classic.protocols[0]
    said = (request.protocol_type, PROTOCOL_TYPE), (request.protocol_name, name)
    for theirs, ours in said:
        if theirs is not None and theirs != ours:
            raise InconsistentGroupProtocol
    holding = member.holding
    is_behind = holding.epoch < group.assignment_epoch
    # Who has to give something up is told so by what it is assigned.
    if is_behind and holding.state != HoldingState.UNREVOKED:
        await_join(shard, group.group_id, member.member_id, member.info)
        raise RebalanceInProgress
    note_sync(shard, group.group_id, member.member_id)
    renew_session(shard, group.group_id, member.member_id, member.info)
    assigned = partitions_of(holding.assigned)
    answer = SyncGroupResponse(
        error_code=ErrorCode.NONE,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=name,
        assignment=embedded_assignment(shard, assigned, metadata),
    )
    return Decision(answer, reads_state=True)


def decide_mixed_heartbeat(shard: GroupShard, request: HeartbeatRequest) -> Decision:
    """Let a member's session go on; when it has to do anything, say so.

    Raises:
        UnknownMemberId, FencedInstanceId, IllegalGeneration, RebalanceInProgress.
    """
    group, member, _ = _member(shard, request)
    renew_session(shard, group.group_id, member.member_id, member.info)
    if _has_to_join(shard, group, member):
        await_join(shard, group.group_id, member.member_id, member.info)
        raise RebalanceInProgress
    return Decision(HeartbeatResponse(error_code=ErrorCode.NONE))


def _member(
    shard: GroupShard, request: HeartbeatRequest | SyncGroupRequest
) -> tuple[ConsumerGroup, ConsumerMember, ClassicPart]:
    group = shard.consumer_groups[request.group_id]
    if request.group_instance_id is None:
        member = known_member(group, request.member_id)
    else:
        member = check_instance(group, request.group_instance_id, request.member_id)
    classic = member.info.classic
    if classic is None:
        raise unknown_member(group.group_id, member.member_id)
    if request.generation_id != member.holding.epoch:
        raise IllegalGeneration
    return group, member, classic


def _has_to_join(
    shard: GroupShard, group: ConsumerGroup, member: ConsumerMember
) -> bool:
    """Whether there is something to give up, or to get, that it has not been told."""
    holding = member.holding
    if holding.epoch < group.assignment_epoch:
        return True
    if _is_moved_by_nobody(shard, group):
        return True
    if holding.state == HoldingState.UNRELEASED:
        return any(
            group.owner_of(topic_id, partition) is None
            for topic_id, partitions in group.target_of(member.member_id).items()
            for partition in partitions
            if partition not in holding.assigned.get(topic_id, ())
        )
    return holding.state == HoldingState.UNREVOKED


def _is_moved_by_nobody(shard: GroupShard, group: ConsumerGroup) -> bool:
    """Whether all is to be assigned anew, and nobody's heartbeat will do it.

    Those of the consumer protocol do. In Apache Kafka a group without any, which may
    not become a classic one, waits for somebody to join.
    """
    is_due = (
        group.epoch > group.assignment_epoch or Draft(shard, group).has_other_topics()
    )
    return is_due and all(each.is_classic for each in group.members.values())

"""The classic group protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.classic.answers import refused_join, refused_sync
from odradek.broker.coordinator.group.classic.join import Joining
from odradek.broker.coordinator.group.classic.steady import (
    is_steady,
    steady_answer,
    steady_of,
)
from odradek.broker.requests import needs
from odradek.broker.requests.registry import handles, shortcut
from odradek.broker.runtime.parked import gathered
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroupRequest,
)

from .usual_beats import UsualBeat

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.steady import Steady
    from odradek.broker.requests.context import ConnectionInfo, RequestContext
    from odradek.broker.requests.registry import Answer
    from odradek.protocol.errors import KafkaError

FIRST_VERSION_WITH_MANY_LEAVING = 3
FIRST_VERSION_WITH_NULL_PROTOCOL = 7
FIRST_VERSION_THAT_NAMES_THE_PROTOCOL = 5


@handles(
    JoinGroupRequest,
    versions=(0, 9),
    needs=needs.before(needs.group(Operation.READ, "group_id")),
)
def handle_join_group(ctx: RequestContext, request: JoinGroupRequest) -> Answer:
    """Answered when the rebalance that it brings about is over."""

    def refuse(error: KafkaError) -> JoinGroupResponse:
        return refused_join(error.code, request.member_id)

    # Kafka writes hosts as Java does, with a slash before the address.
    host = f"/{ctx.peer_host}"
    joining = Joining.of(request, ctx.api_version, ctx.client_id or "", host)
    answer = ctx.services.groups.join(joining, refuse)
    if ctx.api_version < FIRST_VERSION_WITH_NULL_PROTOCOL:
        return answer
    return gathered([answer], _without_protocol)


def _without_protocol(responses: list[JoinGroupResponse]) -> JoinGroupResponse:
    """Who is refused is in no protocol; before version 7 that was the empty one."""
    (response,) = responses
    if response.error_code:
        response.protocol_name = None
    return response


@handles(
    SyncGroupRequest,
    versions=(0, 5),
    needs=needs.inside(needs.group(Operation.READ)),
)
def handle_sync_group(ctx: RequestContext, request: SyncGroupRequest) -> Answer:
    """Answered when the leader has brought the assignment.

    Of a request that names no protocol nothing else is looked at, as in Apache Kafka.
    """
    if ctx.api_version >= FIRST_VERSION_THAT_NAMES_THE_PROTOCOL and (
        request.protocol_type is None or request.protocol_name is None
    ):
        return refused_sync(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    ctx.require(Operation.READ, ResourceType.GROUP, request.group_id)
    return ctx.services.groups.sync(request, lambda error: refused_sync(error.code))


@handles(
    HeartbeatRequest,
    versions=(0, 4),
    needs=needs.before(needs.group(Operation.READ, "group_id")),
)
def handle_heartbeat(ctx: RequestContext, request: HeartbeatRequest) -> Answer:
    """Answered at once."""

    def refuse(error: KafkaError) -> HeartbeatResponse:
        # Clients take "loading" for a fatal error here; sessions begin behind it.
        if error.code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return HeartbeatResponse(error_code=ErrorCode.NONE)
        return HeartbeatResponse(error_code=error.code)

    return ctx.services.groups.heartbeat(request, refuse)


@shortcut(HeartbeatRequest, first_version=0)
class UsualHeartbeat(UsualBeat):
    """Heartbeats of members of classic groups."""

    __slots__ = ()

    request_class = HeartbeatRequest
    is_steady = staticmethod(is_steady)

    def read(
        self,
        shard: GroupShard,
        request: HeartbeatRequest,
        client_id: str | None,
        connection: ConnectionInfo,
    ) -> tuple[Steady, HeartbeatResponse] | None:
        """What it says, and what it is told; None: there is no such member."""
        steady = steady_of(shard, request)
        return None if steady is None else (steady, steady_answer())


@handles(
    LeaveGroupRequest,
    versions=(0, 5),
    needs=needs.before(needs.group(Operation.READ, "group_id")),
)
def handle_leave_group(ctx: RequestContext, request: LeaveGroupRequest) -> Answer:
    """Each member that leaves has a code; before version 3 there is one."""
    is_alone = ctx.api_version < FIRST_VERSION_WITH_MANY_LEAVING
    members = request.members
    if is_alone:
        members = [MemberIdentity(member_id=request.member_id)]
    answer = ctx.services.groups.leave(
        request.group_id,
        members,
        lambda error: LeaveGroupResponse(error_code=error.code),
    )
    return gathered([answer], _of_one) if is_alone else answer


def _of_one(responses: list[LeaveGroupResponse]) -> LeaveGroupResponse:
    (response,) = responses
    code = response.error_code
    if not code and response.members:
        code = response.members[0].error_code
    return LeaveGroupResponse(error_code=code)

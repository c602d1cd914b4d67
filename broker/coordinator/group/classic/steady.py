"""Members of classic groups who are not asked to join again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.state.classic_states import ClassicState
from odradek.broker.coordinator.group.state.steady import Steady
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import HeartbeatResponse

from .rebalance import session_key

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.protocol.messages.groups import HeartbeatRequest


def steady_of(shard: GroupShard, request: HeartbeatRequest) -> Steady | None:
    """The heartbeat of a member; None: there is none in a classic group."""
    group = shard.group(request.group_id)
    member = None if group is None else group.members.get(request.member_id)
    if member is None:
        return None
    return Steady(
        request.group_id,
        request.member_id,
        request.generation_id,
        request.group_instance_id,
        "",
        "",
        session_key(request.group_id, request.member_id),
        member.session_timeout_ms,
    )


def steady_answer() -> HeartbeatResponse:
    """What it is told as long as it is steady."""
    return HeartbeatResponse(error_code=ErrorCode.NONE)


def is_steady(shard: GroupShard, said: Steady) -> bool:
    """Whether `decide_heartbeat` would only let the session go on."""
    group = shard.groups.get(said.group_id)
    member = None if group is None else group.members.get(said.member_id)
    if group is None or member is None:
        return False
    return (
        said.epoch == group.generation_id
        and group.is_in(ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE)
        and member.session_timeout_ms == said.timeout_ms
        and (
            said.instance_id is None
            or group.static_members.get(said.instance_id) == said.member_id
        )
    )

"""The answers to the heartbeats of members of share groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.share_groups import (
    ShareGroupHeartbeatResponse,
    ShareHeartbeatAssignment,
    ShareHeartbeatTopicPartitions,
)

from .settings import heartbeat_interval_ms

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.consumer.member import Partitions
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.share.member import ShareHolding
    from odradek.protocol.errors import KafkaError
    from odradek.protocol.messages.share_groups import ShareGroupHeartbeatRequest


def share_beat_answer(
    shard: GroupShard,
    request: ShareGroupHeartbeatRequest,
    holding: ShareHolding,
    *,
    with_assignment: bool,
    assigns_in_ms: int | None = None,
) -> ShareGroupHeartbeatResponse:
    """The member's epoch; and what it may read, when it has to be told that.

    Where there will be something else to tell in ``assigns_in_ms`` it is asked to come
    again then: who has joined a moment after another one does not idle for long.
    """
    interval_ms = heartbeat_interval_ms(shard, request.group_id)
    if assigns_in_ms is not None:
        interval_ms = min(interval_ms, assigns_in_ms)
    return ShareGroupHeartbeatResponse(
        error_code=ErrorCode.NONE,
        member_id=request.member_id,
        member_epoch=holding.epoch,
        heartbeat_interval_ms=interval_ms,
        assignment=_assignment(holding.assigned) if with_assignment else None,
    )


def left_answer(member_id: str, epoch: int) -> ShareGroupHeartbeatResponse:
    """The member has left."""
    return ShareGroupHeartbeatResponse(
        error_code=ErrorCode.NONE, member_id=member_id, member_epoch=epoch
    )


def refused_share_beat(error: KafkaError) -> ShareGroupHeartbeatResponse:
    """Nothing has been done."""
    return ShareGroupHeartbeatResponse(error_code=error.code, error_message=str(error))


def _assignment(assigned: Partitions) -> ShareHeartbeatAssignment:
    return ShareHeartbeatAssignment(
        topic_partitions=[
            ShareHeartbeatTopicPartitions(
                topic_id=topic_id, partitions=sorted(partitions)
            )
            for topic_id, partitions in sorted(assigned.items())
        ]
    )

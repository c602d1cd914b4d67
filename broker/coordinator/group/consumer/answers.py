"""The answers to heartbeats, and what a heartbeat says to have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.consumer_groups import (
    ConsumerGroupHeartbeatResponse,
    HeartbeatAssignment,
    HeartbeatTopicPartitions,
)

from .settings import heartbeat_interval_ms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.broker.coordinator.group.state.consumer.member import Holding
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.protocol.errors import KafkaError
    from odradek.protocol.messages.consumer_groups import (
        ConsumerGroupHeartbeatRequest,
    )


def beat_answer(
    shard: GroupShard,
    request: ConsumerGroupHeartbeatRequest,
    holding: Holding,
    *,
    with_assignment: bool,
) -> ConsumerGroupHeartbeatResponse:
    """The member's epoch; and what it may read, when it has to be told that."""
    return ConsumerGroupHeartbeatResponse(
        error_code=ErrorCode.NONE,
        member_id=request.member_id,
        member_epoch=holding.epoch,
        heartbeat_interval_ms=heartbeat_interval_ms(shard, request.group_id),
        assignment=_assignment(holding) if with_assignment else None,
    )


def left_answer(member_id: str, epoch: int) -> ConsumerGroupHeartbeatResponse:
    """The member has left, for good or for a while."""
    return ConsumerGroupHeartbeatResponse(
        error_code=ErrorCode.NONE, member_id=member_id, member_epoch=epoch
    )


def refused_beat(error: KafkaError) -> ConsumerGroupHeartbeatResponse:
    """Nothing has been done."""
    return ConsumerGroupHeartbeatResponse(
        error_code=error.code, error_message=str(error)
    )


def _assignment(holding: Holding) -> HeartbeatAssignment:
    return HeartbeatAssignment(
        topic_partitions=[
            HeartbeatTopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
            for topic_id, partitions in sorted(holding.assigned.items())
        ]
    )


def owned_partitions(
    said: Sequence[HeartbeatTopicPartitions] | None,
) -> dict[bytes, frozenset[int]] | None:
    """What a member says to have; None: it did not say."""
    if said is None:
        return None
    owned: dict[bytes, frozenset[int]] = {}
    for each in said:
        known = owned.get(each.topic_id, frozenset())
        owned[each.topic_id] = known.union(each.partitions)
    return owned

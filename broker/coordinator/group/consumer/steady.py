"""Members of consumer groups of whom, and for whom, there is nothing new."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.state.consumer.member import (
    JOINING_EPOCH,
    Holding,
    HoldingState,
)
from odradek.broker.coordinator.group.state.steady import Steady

from .answers import beat_answer
from .check import NOT_SAID
from .settings import session_timeout_ms
from .targets.patterns import wants_resolving
from .timer_keys import session_key

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.protocol.messages.consumer_groups import (
        ConsumerGroupHeartbeatResponse,
    )

    from .heartbeat import Beat


def steady_of(shard: GroupShard, beat: Beat) -> Steady | None:
    """The heartbeat, if it says nothing but who lives."""
    request = beat.request
    is_bare = (
        request.member_epoch > JOINING_EPOCH
        and request.rebalance_timeout_ms == NOT_SAID
        and request.rack_id is None
        and request.subscribed_topic_names is None
        and request.subscribed_topic_regex is None
        and request.server_assignor is None
        and request.topic_partitions is None
    )
    if not is_bare:
        return None
    return Steady(
        request.group_id,
        request.member_id,
        request.member_epoch,
        request.instance_id,
        beat.client_id,
        beat.client_host,
        session_key(request.group_id, request.member_id),
        session_timeout_ms(shard, request.group_id),
    )


def steady_answer(shard: GroupShard, beat: Beat) -> ConsumerGroupHeartbeatResponse:
    """What it is told as long as it is steady."""
    holding = Holding(epoch=beat.request.member_epoch)
    return beat_answer(shard, beat.request, holding, with_assignment=False)


def is_steady(shard: GroupShard, said: Steady) -> bool:
    """Whether `decide_beat` would write nothing, begin nothing, and tell nothing."""
    group = shard.consumer_groups.get(said.group_id)
    member = None if group is None else group.members.get(said.member_id)
    if group is None or member is None:
        return False
    holding, info = member.holding, member.info
    return (
        said.epoch == holding.epoch == group.assignment_epoch == group.epoch
        and holding.state == HoldingState.STABLE
        and group.seen_topics_version == shard.topics.index_version
        and info.client_id == said.client_id
        and info.client_host == said.client_host
        and info.classic is None
        and (
            said.instance_id is None
            or group.static_members.get(said.instance_id) == said.member_id
        )
        and not wants_resolving(shard, group, info.pattern)
    )

"""Members of share groups of whom, and for whom, there is nothing new."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.consumer.timer_keys import session_key
from odradek.broker.coordinator.group.state.consumer.member import JOINING_EPOCH
from odradek.broker.coordinator.group.state.share.member import ShareHolding
from odradek.broker.coordinator.group.state.steady import Steady

from .answers import share_beat_answer
from .settings import session_timeout_ms

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.protocol.messages.share_groups import ShareGroupHeartbeatResponse

    from .heartbeat import ShareBeat


def steady_of(shard: GroupShard, beat: ShareBeat) -> Steady | None:
    """The heartbeat, if it says nothing but who lives."""
    request = beat.request
    is_bare = (
        request.member_epoch > JOINING_EPOCH
        and request.rack_id is None
        and request.subscribed_topic_names is None
    )
    if not is_bare:
        return None
    return Steady(
        request.group_id,
        request.member_id,
        request.member_epoch,
        None,
        beat.client_id,
        beat.client_host,
        session_key(request.group_id, request.member_id),
        session_timeout_ms(shard, request.group_id),
    )


def steady_answer(shard: GroupShard, beat: ShareBeat) -> ShareGroupHeartbeatResponse:
    """What it is told as long as it is steady."""
    holding = ShareHolding(epoch=beat.request.member_epoch)
    return share_beat_answer(shard, beat.request, holding, with_assignment=False)


def is_steady(shard: GroupShard, said: Steady) -> bool:
    """Whether `decide_share_beat` would write nothing, begin nothing, tell nothing."""
    group = shard.share_groups.get(said.group_id)
    member = None if group is None else group.members.get(said.member_id)
    if group is None or member is None:
        return False
    version, whole_at = shard.topics.index_version, group.whole_at
    info = member.info
    return (
        said.epoch == member.holding.epoch == group.assignment_epoch == group.epoch
        and group.seen_topics_version == version
        and whole_at is not None
        and whole_at[0] is group.states
        and whole_at[1] == version
        and info.client_id == said.client_id
        and info.client_host == said.client_host
    )

"""The questions that members of both protocols ask, by the type of their group.

What is about consumer groups is loaded with the first of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.errors import InconsistentGroupProtocol

from .classic.join import decide_join
from .classic.leave import decide_leave
from .classic.sync import decide_heartbeat, decide_sync

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.broker.coordinator.decision import Decision
    from odradek.protocol.messages.groups import (
        HeartbeatRequest,
        MemberIdentity,
        SyncGroupRequest,
    )

    from .classic.join import Joining
    from .state.shard import GroupShard


def decide_any_join(shard: GroupShard, joining: Joining) -> Decision:
    """Let a member of the classic protocol join.

    Raises:
        InconsistentGroupProtocol: it is a share group, or a streams group with members.
        KafkaError: it may not; see `decide_join`, `decide_mixed_join`.
    """
    if joining.group_id in shard.share_groups:
        raise InconsistentGroupProtocol
    streams = shard.streams_groups.get(joining.group_id)
    if streams is not None:
        from .streams.removal import make_way

        make_way(shard, streams, joining.member_id)
    if joining.group_id in shard.consumer_groups:
        from .consumer.migration.join import decide_mixed_join, gives_way

        if not gives_way(shard, joining):
            return decide_mixed_join(shard, joining)
    return decide_join(shard, joining)


def decide_any_sync(shard: GroupShard, request: SyncGroupRequest) -> Decision:
    """Give a member of the classic protocol its assignment.

    Raises:
        KafkaError: there is none; see `decide_sync`, `decide_mixed_sync`.
    """
    if request.group_id not in shard.consumer_groups:
        return decide_sync(shard, request)
    from .consumer.migration.sync import decide_mixed_sync

    return decide_mixed_sync(shard, request)


def decide_any_heartbeat(shard: GroupShard, request: HeartbeatRequest) -> Decision:
    """Let the session of a member of the classic protocol go on.

    Raises:
        KafkaError: it has to do something first; see `decide_heartbeat`,
            `decide_mixed_heartbeat`.
    """
    if request.group_id not in shard.consumer_groups:
        return decide_heartbeat(shard, request)
    from .consumer.migration.sync import decide_mixed_heartbeat

    return decide_mixed_heartbeat(shard, request)


def decide_any_leave(
    shard: GroupShard, group_id: str, members: Sequence[MemberIdentity]
) -> Decision:
    """Let members go, of any protocol.

    Raises:
        CoordinatorNotAvailable: the group was deleted.
    """
    if group_id not in shard.consumer_groups:
        return decide_leave(shard, group_id, members)
    from .consumer.migration.leave import decide_classic_leave

    return decide_classic_leave(shard, group_id, members)

"""What has to be written when a group without members is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .state.records import GroupRecord

if TYPE_CHECKING:
    from odradek.broker.coordinator.decision import CoordinatorRecord

    from .state.shard import GroupShard


def group_gone(shard: GroupShard, group_id: str) -> list[CoordinatorRecord]:
    """Tombstones for a group without members, which has no states of its own."""
    consumers = shard.consumer_groups.get(group_id)
    if consumers is not None:
        from .consumer.removal import records_gone

        return records_gone(shard, consumers)
    streams = shard.streams_groups.get(group_id)
    if streams is not None:
        from .streams.removal import records_gone as streams_gone

        return streams_gone(shard, streams)
    return [GroupRecord(group_id, None)]

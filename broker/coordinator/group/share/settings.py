"""The options of one share group: its own, or else the broker's behind them.

A group's own were checked when they were set. The bounds may have changed since, so
they are kept to them again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.shard import GroupShard


def session_timeout_ms(shard: GroupShard, group_id: str) -> int:
    """How long a member may say nothing."""
    return _setting(shard, group_id, "session.timeout.ms")


def heartbeat_interval_ms(shard: GroupShard, group_id: str) -> int:
    """How often a member is to be heard."""
    return _setting(shard, group_id, "heartbeat.interval.ms")


def assignment_interval_ms(shard: GroupShard, group_id: str) -> int:
    """How long one assignment holds at least."""
    return _setting(shard, group_id, "assignment.interval.ms")


def _setting(shard: GroupShard, group_id: str, name: str) -> int:
    config, field = shard.config, name.replace(".", "_")
    own = shard.options_of(group_id).get(f"share.{name}")
    value: int = getattr(config, f"group_share_{field}")
    if own is None:
        return value
    least: int = getattr(config, f"group_share_min_{field}")
    most: int = getattr(config, f"group_share_max_{field}")
    return max(least, min(int(own), most))

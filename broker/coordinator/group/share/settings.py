"""The options of one share group: its own, or else the broker's behind them.

A group's own were checked when they were set. The bounds may have changed since, so
they are kept to them again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.shard import GroupShard


SESSION_TIMEOUT = "share.session.timeout.ms"
HEARTBEAT_INTERVAL = "share.heartbeat.interval.ms"
ASSIGNMENT_INTERVAL = "share.assignment.interval.ms"


def session_timeout_ms(shard: GroupShard, group_id: str) -> int:
    """How long a member may say nothing."""
    config = shard.config
    return _own_or(
        shard.options_of(group_id).get(SESSION_TIMEOUT),
        config.group_share_session_timeout_ms,
        config.group_share_min_session_timeout_ms,
        config.group_share_max_session_timeout_ms,
    )


def heartbeat_interval_ms(shard: GroupShard, group_id: str) -> int:
    """How often a member is to be heard."""
    config = shard.config
    return _own_or(
        shard.options_of(group_id).get(HEARTBEAT_INTERVAL),
        config.group_share_heartbeat_interval_ms,
        config.group_share_min_heartbeat_interval_ms,
        config.group_share_max_heartbeat_interval_ms,
    )


def assignment_interval_ms(shard: GroupShard, group_id: str) -> int:
    """How long one assignment holds at least."""
    config = shard.config
    return _own_or(
        shard.options_of(group_id).get(ASSIGNMENT_INTERVAL),
        config.group_share_assignment_interval_ms,
        config.group_share_min_assignment_interval_ms,
        config.group_share_max_assignment_interval_ms,
    )


def _own_or(own: str | None, of_broker: int, least: int, most: int) -> int:
    return of_broker if own is None else max(least, min(int(own), most))

"""The options of one streams group: its own, or else the broker's behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.own_options import Brokers, OwnOption

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.streams.group import AssignmentConfigs

session_timeout_ms = OwnOption(
    "streams.session.timeout.ms",
    lambda of: Brokers(
        of.group_streams_session_timeout_ms,
        of.group_streams_min_session_timeout_ms,
        of.group_streams_max_session_timeout_ms,
    ),
)
"""How long a member may say nothing."""
heartbeat_interval_ms = OwnOption(
    "streams.heartbeat.interval.ms",
    lambda of: Brokers(
        of.group_streams_heartbeat_interval_ms,
        of.group_streams_min_heartbeat_interval_ms,
        of.group_streams_max_heartbeat_interval_ms,
    ),
)
"""How often a member is to be heard."""
assignment_interval_ms = OwnOption(
    "streams.assignment.interval.ms",
    lambda of: Brokers(
        of.group_streams_assignment_interval_ms,
        of.group_streams_min_assignment_interval_ms,
        of.group_streams_max_assignment_interval_ms,
    ),
)
"""How long one assignment holds at least."""
initial_delay_ms = OwnOption(
    "streams.initial.rebalance.delay.ms",
    lambda of: Brokers(of.group_streams_initial_rebalance_delay_ms),
)
"""How long a group without members waits for more than the first one."""
standby_count = OwnOption(
    "streams.num.standby.replicas",
    lambda of: Brokers(
        of.group_streams_num_standby_replicas,
        most=of.group_streams_max_standby_replicas,
    ),
)
"""How many processes follow the state of a task beside the one that works on it."""

_STANDBYS = "num.standby.replicas"


def assignment_configs(shard: GroupShard, group_id: str) -> AssignmentConfigs:
    """What an assignment depends on beside members and topics, as a record has it."""
    return ((_STANDBYS, str(standby_count(shard, group_id))),)


def standbys_of(configs: AssignmentConfigs) -> int:
    """The number of standby tasks in what was noted; groups of old may have none."""
    return int(dict(configs).get(_STANDBYS, 0))

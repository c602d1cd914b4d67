"""The options of one share group: its own, or else the broker's behind them."""

from odradek.broker.coordinator.group.own_options import Brokers, OwnOption

session_timeout_ms = OwnOption(
    "share.session.timeout.ms",
    lambda of: Brokers(
        of.group_share_session_timeout_ms,
        of.group_share_min_session_timeout_ms,
        of.group_share_max_session_timeout_ms,
    ),
)
"""How long a member may say nothing."""
heartbeat_interval_ms = OwnOption(
    "share.heartbeat.interval.ms",
    lambda of: Brokers(
        of.group_share_heartbeat_interval_ms,
        of.group_share_min_heartbeat_interval_ms,
        of.group_share_max_heartbeat_interval_ms,
    ),
)
"""How often a member is to be heard."""
assignment_interval_ms = OwnOption(
    "share.assignment.interval.ms",
    lambda of: Brokers(
        of.group_share_assignment_interval_ms,
        of.group_share_min_assignment_interval_ms,
        of.group_share_max_assignment_interval_ms,
    ),
)
"""How long one assignment holds at least."""

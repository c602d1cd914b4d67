"""The options of streams groups (KIP-1071).

Where a group may have an option of its own (`group_config`), ``min`` and ``max`` bound
that.
"""

from dataclasses import dataclass

from .error import OptionError
from .group_bounds import check_group_bounds
from .option import INT_MAX, option

_BOUNDED = ("session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms")


@dataclass(frozen=True, init=False, repr=False, eq=False)
class StreamsGroupOptions:
    """Streams groups, which may have some of these of their own."""

    group_streams_session_timeout_ms: int = option(
        45_000,
        "group.streams.session.timeout.ms",
        "A member of a streams group that says nothing for so long is out.",
        at_least=1,
    )
    group_streams_min_session_timeout_ms: int = option(
        45_000,
        "group.streams.min.session.timeout.ms",
        "Shortest session timeout that a streams group may have of its own.",
        at_least=1,
    )
    group_streams_max_session_timeout_ms: int = option(
        60_000,
        "group.streams.max.session.timeout.ms",
        "Longest session timeout that a streams group may have of its own.",
        at_least=1,
    )
    group_streams_heartbeat_interval_ms: int = option(
        5_000,
        "group.streams.heartbeat.interval.ms",
        "How often the members of streams groups are told to say that they live.",
        at_least=1,
    )
    group_streams_min_heartbeat_interval_ms: int = option(
        5_000,
        "group.streams.min.heartbeat.interval.ms",
        "Shortest heartbeat interval that a streams group may have of its own.",
        at_least=1,
    )
    group_streams_max_heartbeat_interval_ms: int = option(
        15_000,
        "group.streams.max.heartbeat.interval.ms",
        "Longest heartbeat interval that a streams group may have of its own.",
        at_least=1,
    )
    group_streams_assignment_interval_ms: int = option(
        1_000,
        "group.streams.assignment.interval.ms",
        "Least time between two assignments of a streams group; 0 is none.",
        at_least=0,
        is_dynamic=True,
    )
    group_streams_min_assignment_interval_ms: int = option(
        0,
        "group.streams.min.assignment.interval.ms",
        "Shortest assignment interval that a streams group may have of its own.",
        at_least=0,
    )
    group_streams_max_assignment_interval_ms: int = option(
        15_000,
        "group.streams.max.assignment.interval.ms",
        "Longest assignment interval that a streams group may have of its own.",
        at_least=0,
    )
    group_streams_initial_rebalance_delay_ms: int = option(
        3_000,
        "group.streams.initial.rebalance.delay.ms",
        "How long a streams group without members waits for more than the first one.",
        at_least=0,
    )
    group_streams_num_standby_replicas: int = option(
        0,
        "group.streams.num.standby.replicas",
        "How many other instances follow the state of each task.",
        at_least=0,
    )
    group_streams_max_standby_replicas: int = option(
        2,
        "group.streams.max.standby.replicas",
        "Most of these that a streams group may have of its own.",
        at_least=0,
    )
    group_streams_max_size: int = option(
        INT_MAX,
        "group.streams.max.size",
        "Most members of a streams group.",
        at_least=1,
    )


def check_streams_groups(options: StreamsGroupOptions) -> None:
    """See that the options of streams groups agree with each other.

    Raises:
        OptionError: they do not.
    """
    check_group_bounds(options, "streams", _BOUNDED)
    most = options.group_streams_max_standby_replicas
    if options.group_streams_num_standby_replicas > most:
        raise OptionError(
            "group.streams.num.standby.replicas must not be more than "
            f"group.streams.max.standby.replicas ({most})"
        )

"""The options of share groups (KIP-932): members, records, what is kept of them.

Where a group may have an option of its own (`group_config`), ``min`` and ``max`` bound
that.
"""

from dataclasses import dataclass

from .error import OptionError
from .group_bounds import check_group_bounds
from .option import Kind, option

LOCK_MS_MIN, LOCK_MS_MAX = 1_000, 3_600_000
LOCKS_MIN, LOCKS_MAX = 100, 10_000
DELIVERIES_MIN, DELIVERIES_MAX = 2, 25


@dataclass(frozen=True, init=False, repr=False, eq=False)
class ShareGroupOptions:
    """Share groups, which may have some of these of their own."""

    group_share_session_timeout_ms: int = option(
        45_000,
        "group.share.session.timeout.ms",
        "A member of a share group that says nothing for so long is out.",
        at_least=1,
    )
    group_share_min_session_timeout_ms: int = option(
        45_000,
        "group.share.min.session.timeout.ms",
        "Shortest session timeout that a share group may have of its own.",
        at_least=1,
    )
    group_share_max_session_timeout_ms: int = option(
        60_000,
        "group.share.max.session.timeout.ms",
        "Longest session timeout that a share group may have of its own.",
        at_least=1,
    )
    group_share_heartbeat_interval_ms: int = option(
        5_000,
        "group.share.heartbeat.interval.ms",
        "How often the members of share groups are told to say that they live.",
        at_least=1,
    )
    group_share_min_heartbeat_interval_ms: int = option(
        5_000,
        "group.share.min.heartbeat.interval.ms",
        "Shortest heartbeat interval that a share group may have of its own.",
        at_least=1,
    )
    group_share_max_heartbeat_interval_ms: int = option(
        15_000,
        "group.share.max.heartbeat.interval.ms",
        "Longest heartbeat interval that a share group may have of its own.",
        at_least=1,
    )
    group_share_assignment_interval_ms: int = option(
        1_000,
        "group.share.assignment.interval.ms",
        "Least time between two assignments of a share group; 0 is none.",
        at_least=0,
        is_dynamic=True,
    )
    group_share_min_assignment_interval_ms: int = option(
        0,
        "group.share.min.assignment.interval.ms",
        "Shortest assignment interval that a share group may have of its own.",
        at_least=0,
    )
    group_share_max_assignment_interval_ms: int = option(
        15_000,
        "group.share.max.assignment.interval.ms",
        "Longest assignment interval that a share group may have of its own.",
        at_least=0,
    )
    group_share_max_size: int = option(
        200,
        "group.share.max.size",
        "Most members of a share group.",
        at_least=1,
        at_most=1_000,
    )
    group_share_max_share_sessions: int = option(
        2_000,
        "group.share.max.share.sessions",
        "Most consumers of all share groups that may fetch at a time.",
        at_least=1,
    )
    share_fetch_purgatory_purge_interval_requests: int = option(
        1_000,
        "share.fetch.purgatory.purge.interval.requests",
        "Finished share fetches that may stay listed before they are cleared out.",
        at_least=1,
    )
    group_share_assignors: tuple[str, ...] = option(
        ("simple",),
        "group.share.assignors",
        "How share groups share partitions; there is one way.",
        choices=("simple",),
    )
    group_share_delivery_count_limit: int = option(
        5,
        "group.share.delivery.count.limit",
        "How often a record is delivered until it is given up.",
        at_least=DELIVERIES_MIN,
        at_most=DELIVERIES_MAX,
    )
    group_share_min_delivery_count_limit: int = option(
        2,
        "group.share.min.delivery.count.limit",
        "Fewest deliveries that a share group may have of its own.",
        at_least=DELIVERIES_MIN,
        at_most=DELIVERIES_MAX,
    )
    group_share_max_delivery_count_limit: int = option(
        10,
        "group.share.max.delivery.count.limit",
        "Most deliveries that a share group may have of its own.",
        at_least=DELIVERIES_MIN,
        at_most=DELIVERIES_MAX,
    )
    group_share_record_lock_duration_ms: int = option(
        30_000,
        "group.share.record.lock.duration.ms",
        "How long a delivered record is its consumer's alone.",
        at_least=LOCK_MS_MIN,
        at_most=LOCK_MS_MAX,
    )
    group_share_min_record_lock_duration_ms: int = option(
        15_000,
        "group.share.min.record.lock.duration.ms",
        "Shortest lock that a share group may have of its own.",
        at_least=LOCK_MS_MIN,
        at_most=LOCK_MS_MAX,
    )
    group_share_max_record_lock_duration_ms: int = option(
        60_000,
        "group.share.max.record.lock.duration.ms",
        "Longest lock that a share group may have of its own.",
        at_least=LOCK_MS_MIN,
        at_most=LOCK_MS_MAX,
    )
    group_share_partition_max_record_locks: int = option(
        2_000,
        "group.share.partition.max.record.locks",
        "How many records of a partition a share group may have begun at a time.",
        at_least=LOCKS_MIN,
        at_most=LOCKS_MAX,
    )
    group_share_min_partition_max_record_locks: int = option(
        100,
        "group.share.min.partition.max.record.locks",
        "Fewest such records that a share group may have of its own.",
        at_least=LOCKS_MIN,
        at_most=LOCKS_MAX,
    )
    group_share_max_partition_max_record_locks: int = option(
        4_000,
        "group.share.max.partition.max.record.locks",
        "Most such records that a share group may have of its own.",
        at_least=LOCKS_MIN,
        at_most=LOCKS_MAX,
    )


@dataclass(frozen=True, init=False, repr=False, eq=False)
class ShareCoordinatorOptions:
    """The topic of the share coordinator, and its snapshots."""

    share_coordinator_state_topic_num_partitions: int = option(
        50,
        "share.coordinator.state.topic.num.partitions",
        "Partitions of __share_group_state.",
        at_least=1,
    )
    share_coordinator_state_topic_replication_factor: int = option(
        1,
        "share.coordinator.state.topic.replication.factor",
        "Copies of __share_group_state. Unset: 1, in a cluster 3.",
        kind=Kind.SHORT,
        at_least=1,
    )
    share_coordinator_state_topic_min_isr: int = option(
        1,
        "share.coordinator.state.topic.min.isr",
        "Copies that must have a record. Unset: 1, in a cluster 2.",
        kind=Kind.SHORT,
        at_least=1,
    )
    share_coordinator_state_topic_segment_bytes: int = option(
        100 << 20,
        "share.coordinator.state.topic.segment.bytes",
        "Size at which its segments roll.",
        at_least=1 << 20,
    )
    share_coordinator_load_buffer_size: int = option(
        5 << 20,
        "share.coordinator.load.buffer.size",
        "Bytes read at a time when what share groups have done is loaded; 256 KiB at"
        " most.",
        at_least=1,
    )
    share_coordinator_snapshot_update_records_per_snapshot: int = option(
        500,
        "share.coordinator.snapshot.update.records.per.snapshot",
        "After so many updates of a share partition all of it is written again.",
        at_least=0,
        at_most=500,
    )


_BOUNDED = (
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "assignment.interval.ms",
    "delivery.count.limit",
    "record.lock.duration.ms",
    "partition.max.record.locks",
)


def check_share_groups(options: ShareGroupOptions) -> None:
    """See that the options of share groups agree with each other.

    Raises:
        OptionError: they do not.
    """
    if not options.group_share_assignors:
        raise OptionError("group.share.assignors must name one at least")
    check_group_bounds(options, "share", _BOUNDED)

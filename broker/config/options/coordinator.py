"""The options of consumer groups, committed offsets, producer ids and transactions."""

from dataclasses import dataclass

from .error import OptionError
from .group_bounds import check_group_bounds
from .option import INT_MAX, Kind, option


@dataclass(frozen=True, init=False, repr=False, eq=False)
class GroupOptions:
    """Sessions, sizes and delays of consumer groups; what happens to their offsets."""

    group_initial_rebalance_delay_ms: int = option(
        0,
        "group.initial.rebalance.delay.ms",
        "How long an empty group waits for more members before its first rebalance.",
        at_least=0,
    )
    group_min_session_timeout_ms: int = option(
        6_000,
        "group.min.session.timeout.ms",
        "Shortest session timeout a member may ask for.",
        at_least=1,
    )
    group_max_session_timeout_ms: int = option(
        1_800_000,
        "group.max.session.timeout.ms",
        "Longest session timeout a member may ask for.",
        at_least=1,
    )
    group_max_size: int = option(
        INT_MAX,
        "group.max.size",
        "Most members of a classic group.",
        at_least=1,
    )
    offsets_topic_num_partitions: int = option(
        50,
        "offsets.topic.num.partitions",
        "Partitions of __consumer_offsets.",
        at_least=1,
    )
    offsets_topic_replication_factor: int = option(
        1,
        "offsets.topic.replication.factor",
        "Copies of __consumer_offsets. Unset: 1, in a cluster 3.",
        kind=Kind.SHORT,
        at_least=1,
    )
    offsets_topic_segment_bytes: int = option(
        100 << 20,
        "offsets.topic.segment.bytes",
        "Size at which its segments roll.",
        at_least=1 << 20,
    )
    offsets_retention_minutes: int = option(
        10_080,
        "offsets.retention.minutes",
        "How long the offsets of an empty group are kept.",
        at_least=1,
    )
    offsets_retention_check_interval_ms: int = option(
        600_000,
        "offsets.retention.check.interval.ms",
        "How often groups are looked at for offsets to drop.",
        kind=Kind.LONG,
        at_least=1,
    )
    offset_metadata_max_bytes: int = option(
        4096,
        "offset.metadata.max.bytes",
        "Longest note that comes with a committed offset.",
        at_least=0,
    )
    offsets_commit_timeout_ms: int = option(
        5_000,
        "offsets.commit.timeout.ms",
        "How long a commit may wait to be durable: until its sync ends or fails.",
        at_least=1,
        is_used=False,
    )
    offsets_load_buffer_size: int = option(
        5 << 20,
        "offsets.load.buffer.size",
        "Bytes read at a time when committed offsets are loaded; 256 KiB at most.",
        at_least=1,
    )


@dataclass(frozen=True, init=False, repr=False, eq=False)
class ConsumerGroupOptions:
    """Groups of the consumer protocol (KIP-848), which may have some of their own."""

    group_coordinator_rebalance_protocols: tuple[str, ...] = option(
        ("classic", "consumer", "streams"),
        "group.coordinator.rebalance.protocols",
        "By which protocols members may join; consumer is that of KIP-848, streams "
        "that of KIP-1071.",
        choices=("classic", "consumer", "streams"),
    )
    group_consumer_session_timeout_ms: int = option(
        45_000,
        "group.consumer.session.timeout.ms",
        "A member of a consumer group that says nothing for so long is out.",
        at_least=1,
    )
    group_consumer_min_session_timeout_ms: int = option(
        45_000,
        "group.consumer.min.session.timeout.ms",
        "Shortest session timeout that a group may have of its own.",
        at_least=1,
    )
    group_consumer_max_session_timeout_ms: int = option(
        60_000,
        "group.consumer.max.session.timeout.ms",
        "Longest session timeout that a group may have of its own.",
        at_least=1,
    )
    group_consumer_heartbeat_interval_ms: int = option(
        5_000,
        "group.consumer.heartbeat.interval.ms",
        "How often the members of consumer groups are told to say that they live.",
        at_least=1,
    )
    group_consumer_min_heartbeat_interval_ms: int = option(
        5_000,
        "group.consumer.min.heartbeat.interval.ms",
        "Shortest heartbeat interval that a group may have of its own.",
        at_least=1,
    )
    group_consumer_max_heartbeat_interval_ms: int = option(
        15_000,
        "group.consumer.max.heartbeat.interval.ms",
        "Longest heartbeat interval that a group may have of its own.",
        at_least=1,
    )
    group_consumer_assignment_interval_ms: int = option(
        1_000,
        "group.consumer.assignment.interval.ms",
        "Least time between two assignments of a consumer group; 0 is none.",
        at_least=0,
        is_dynamic=True,
    )
    group_consumer_min_assignment_interval_ms: int = option(
        0,
        "group.consumer.min.assignment.interval.ms",
        "Shortest assignment interval that a group may have of its own.",
        at_least=0,
    )
    group_consumer_max_assignment_interval_ms: int = option(
        15_000,
        "group.consumer.max.assignment.interval.ms",
        "Longest assignment interval that a group may have of its own.",
        at_least=0,
    )
    group_consumer_regex_refresh_interval_ms: int = option(
        600_000,
        "group.consumer.regex.refresh.interval.ms",
        "How often patterns of members are matched again though no topic was made.",
        at_least=10_000,
    )
    group_consumer_max_size: int = option(
        INT_MAX,
        "group.consumer.max.size",
        "Most members of a consumer group.",
        at_least=1,
    )
    group_consumer_migration_policy: str = option(
        "bidirectional",
        "group.consumer.migration.policy",
        "Which groups with members change their protocol: upgrade = classic ones, when "
        "a member joins by the consumer protocol; downgrade = consumer groups, when "
        "none of these is left; bidirectional = both; disabled = none.",
        choices=("bidirectional", "upgrade", "downgrade", "disabled"),
        read=str.lower,
    )
    group_consumer_assignors: tuple[str, ...] = option(
        ("uniform", "range"),
        "group.consumer.assignors",
        "How consumer groups share partitions; the first is the default.",
        choices=("uniform", "range"),
    )


@dataclass(frozen=True, init=False, repr=False, eq=False)
class TransactionOptions:
    """Timeouts of transactions; how long producer ids are remembered."""

    transaction_max_timeout_ms: int = option(
        900_000,
        "transaction.max.timeout.ms",
        "Longest timeout a transaction may ask for.",
        at_least=1,
    )
    transactional_id_expiration_ms: int = option(
        604_800_000,
        "transactional.id.expiration.ms",
        "How long an unused transactional id is remembered.",
        at_least=1,
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = option(
        10_000,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        "How often transactions are looked at for ones to abort.",
        at_least=1,
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = option(
        3_600_000,
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        "How often transactional ids are looked at for ones to forget.",
        at_least=1,
    )
    transaction_state_log_num_partitions: int = option(
        50,
        "transaction.state.log.num.partitions",
        "Partitions of __transaction_state.",
        at_least=1,
    )
    transaction_state_log_replication_factor: int = option(
        1,
        "transaction.state.log.replication.factor",
        "Copies of __transaction_state. Unset: 1, in a cluster 3.",
        kind=Kind.SHORT,
        at_least=1,
    )
    transaction_state_log_min_isr: int = option(
        1,
        "transaction.state.log.min.isr",
        "Copies that must have a record. Unset: 1, in a cluster 2.",
        at_least=1,
    )
    transaction_state_log_segment_bytes: int = option(
        100 << 20,
        "transaction.state.log.segment.bytes",
        "Size at which its segments roll.",
        at_least=1 << 20,
    )
    transaction_state_log_load_buffer_size: int = option(
        5 << 20,
        "transaction.state.log.load.buffer.size",
        "Bytes read at a time when transactions are loaded; 256 KiB at most.",
        at_least=1,
    )
    transaction_version: int = option(
        2,
        "transaction.version",
        "Newest protocol of transactions that clients are told of: 2 is KIP-890.",
        kind=Kind.SHORT,
        at_least=0,
        at_most=2,
    )
    inter_broker_apis_enable: bool = option(
        False,
        "inter.broker.apis.enable",
        "Whether clients may use what brokers ask each other: AddPartitionsToTxn 4 "
        "and 5, and WriteTxnMarkers of every kind.",
    )
    transaction_partition_verification_enable: bool = option(
        True,
        "transaction.partition.verification.enable",
        "Whether a transactional batch needs a transaction that knows its partition.",
        is_dynamic=True,
    )
    producer_id_expiration_ms: int = option(
        86_400_000,
        "producer.id.expiration.ms",
        "How long a partition remembers a producer that sends nothing.",
        at_least=1,
        is_dynamic=True,
    )
    producer_id_expiration_check_interval_ms: int = option(
        600_000,
        "producer.id.expiration.check.interval.ms",
        "How often partitions are looked at for producers to forget.",
        at_least=1,
    )


def check_consumer_groups(options: ConsumerGroupOptions) -> None:
    """See that the options of consumer groups agree with each other.

    Raises:
        OptionError: they do not.
    """
    if "classic" not in options.group_coordinator_rebalance_protocols:
        raise OptionError(
            "group.coordinator.rebalance.protocols must have classic among them"
        )
    if not options.group_consumer_assignors:
        raise OptionError("group.consumer.assignors must name one at least")
    check_group_bounds(
        options,
        "consumer",
        ("session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms"),
    )

"""What a client wants a new topic to be, checked as far as that goes without the rest.

Whether the name is free is decided later, in the catalogue's queue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.config.topic_config import validate_topic_options
from odradek.protocol.errors import (
    InvalidConfig,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
)

from .topic import NewTopic
from .topic_names import SHARE_GROUP_STATE, check_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from odradek.broker.config.chosen_options import ChosenOptions
    from odradek.broker.config.options.broker_config import BrokerConfig

USE_DEFAULT = -1


class WantedTopic(NamedTuple):
    """A topic as the client describes it. ``assignments``: partition, its brokers."""

    name: str
    partition_count: int
    replication_factor: int
    assignments: list[tuple[int, list[int]]]
    options: Mapping[str, str | None]


def check_wanted(wanted: WantedTopic, config: BrokerConfig) -> NewTopic:
    """The topic to make, with the broker's defaults in their places.

    Raises:
        KafkaError: something about it is not possible; the message says what.
    """
    check_name(wanted.name)
    options = validate_topic_options(_given(wanted.options), config)
    check_own_topic(wanted.name, options, config)
    if wanted.assignments:
        partition_count = _count_assigned(wanted, config.node_id)
    else:
        _check_replication_factor(wanted.replication_factor)
        partition_count = _partition_count(wanted.partition_count, config)
    return NewTopic(wanted.name, partition_count, options)


def check_own_topic(name: str, options: ChosenOptions, config: BrokerConfig) -> None:
    """See that a topic of the broker's own can do its work with these options.

    Raises:
        InvalidConfig: it would lose what it is there for.
    """
    if name != SHARE_GROUP_STATE:
        return
    if "compact" in options.parsed.get("cleanup.policy", config.log_cleanup_policy):
        # Apache Kafka takes it, and forgets what was acknowledged.
        raise InvalidConfig(
            f"{name} cannot be compacted: its records say what has changed since those "
            "before them"
        )


def check_brokers(broker_ids: Sequence[int], node_id: int) -> None:
    """See that the replicas of one partition can be where a client wants them.

    Raises:
        InvalidReplicaAssignment: none are named, one twice, or one that is not us.
    """
    if not broker_ids:
        raise InvalidReplicaAssignment(
            "The manual partition assignment includes an empty replica list."
        )
    for index, broker_id in enumerate(broker_ids):
        if broker_id != node_id:
            raise InvalidReplicaAssignment(
                f"The manual partition assignment includes broker {broker_id}, but no "
                "such broker is registered."
            )
        if broker_id in broker_ids[:index]:
            raise InvalidReplicaAssignment(
                f"The manual partition assignment includes the broker {broker_id} more "
                "than once."
            )


def _given(options: Mapping[str, str | None]) -> dict[str, str]:
    given = {}
    for name, value in options.items():
        if value is None:
            raise InvalidConfig(f"Null value not supported for topic configs: {name}")
        given[name] = value
    return given


def _count_assigned(wanted: WantedTopic, node_id: int) -> int:
    """How many partitions a manual assignment is for."""
    if wanted.replication_factor != USE_DEFAULT:
        raise InvalidRequest(
            "A manual partition assignment was specified, but replication factor was "
            "not set to -1."
        )
    if wanted.partition_count != USE_DEFAULT:
        raise InvalidRequest(
            "A manual partition assignment was specified, but numPartitions was not "
            "set to -1."
        )
    seen: set[int] = set()
    for partition, broker_ids in wanted.assignments:
        if partition in seen:
            raise InvalidReplicaAssignment(
                f"Found multiple manual partition assignments for partition {partition}"
            )
        seen.add(partition)
        check_brokers(broker_ids, node_id)
    if seen != set(range(len(seen))):
        raise InvalidReplicaAssignment(
            "partitions should be a consecutive 0-based integer sequence"
        )
    return len(seen)


def _check_replication_factor(replication_factor: int) -> None:
    if replication_factor == 0 or replication_factor < USE_DEFAULT:
        raise InvalidReplicationFactor(
            "Replication factor must be larger than 0, or -1 to use the default value."
        )
    if replication_factor > 1:
        raise InvalidReplicationFactor(
            f"Unable to replicate the partition {replication_factor} time(s): The "
            f"target replication factor of {replication_factor} cannot be reached "
            "because only 1 broker(s) are registered. Use 1, or -1 for the default."
        )


def _partition_count(partition_count: int, config: BrokerConfig) -> int:
    if partition_count == USE_DEFAULT:
        return config.num_partitions
    if partition_count <= 0:
        raise InvalidPartitions(
            "Number of partitions was set to an invalid non-positive value."
        )
    return partition_count

"""Moving partitions between brokers: to begin it, and what is under way (KIP-455)."""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    since,
    string,
)


class ReassignablePartition(Struct):
    """A partition and its new replicas; null ends a move that is under way."""

    partition_index: int = int32()
    replicas: list[int] | None = array(of=int32, nullable=True, default=None)


class ReassignableTopic(Struct):
    """The partitions of one topic that are to move."""

    name: str = string()
    partitions: list[ReassignablePartition] = array()


class AlterPartitionReassignmentsRequest(
    Request,
    api_key=ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    versions=(0, 1),
    flexible=0,
):
    """Move partitions. From version 1 on their number of replicas may be fixed."""

    timeout_ms: int = int32(default=60_000)
    allow_replication_factor_change: bool = boolean(versions=since(1), default=True)
    topics: list[ReassignableTopic] = array()


class ReassignablePartitionResponse(Struct):
    """Whether one partition moves."""

    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)


class ReassignableTopicResponse(Struct):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[ReassignablePartitionResponse] = array()


class AlterPartitionReassignmentsResponse(
    Response,
    api_key=ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    versions=(0, 1),
    flexible=0,
):
    """One answer for each partition."""

    throttle_time_ms: int = int32()
    allow_replication_factor_change: bool = boolean(versions=since(1), default=True)
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    responses: list[ReassignableTopicResponse] = array()


class ListPartitionReassignmentsTopics(Struct):
    """The partitions of one topic that are asked about."""

    name: str = string()
    partition_indexes: list[int] = array(of=int32)


class ListPartitionReassignmentsRequest(
    Request,
    api_key=ApiKey.LIST_PARTITION_REASSIGNMENTS,
    versions=(0, 0),
    flexible=0,
):
    """Which partitions are on the move? Null asks about all."""

    timeout_ms: int = int32(default=60_000)
    topics: list[ListPartitionReassignmentsTopics] | None = array(nullable=True)


class OngoingPartitionReassignment(Struct):
    """A partition that moves: where it is, and what comes and goes."""

    partition_index: int = int32()
    replicas: list[int] = array(of=int32)
    adding_replicas: list[int] = array(of=int32)
    removing_replicas: list[int] = array(of=int32)


class OngoingTopicReassignment(Struct):
    """The partitions of one topic that move."""

    name: str = string()
    partitions: list[OngoingPartitionReassignment] = array()


class ListPartitionReassignmentsResponse(
    Response,
    api_key=ApiKey.LIST_PARTITION_REASSIGNMENTS,
    versions=(0, 0),
    flexible=0,
):
    """What is on the move."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    topics: list[OngoingTopicReassignment] = array()

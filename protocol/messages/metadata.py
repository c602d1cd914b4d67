"""Metadata: the brokers, and the topics with their partitions and leaders.

DescribeTopicPartitions is its successor, in pages (KIP-966).
"""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    between,
    boolean,
    int16,
    int32,
    since,
    string,
    struct,
    uuid,
)

# "The client did not ask", in the place of the operations it may do.
OPERATIONS_NOT_ASKED = -(1 << 31)


class MetadataRequestTopic(Struct):
    """A topic asked for: by name, or from version 12 by id with a null name."""

    topic_id: bytes = uuid(versions=since(10))
    name: str | None = string(nullable=since(10), default="")


class MetadataRequest(Request, api_key=ApiKey.METADATA, versions=(0, 13), flexible=9):
    """Describe these topics. All of them when null, in version 0 when empty."""

    topics: list[MetadataRequestTopic] | None = array(nullable=since(1))
    allow_auto_topic_creation: bool = boolean(versions=since(4), default=True)
    include_cluster_authorized_operations: bool = boolean(versions=between(8, 10))
    include_topic_authorized_operations: bool = boolean(versions=since(8))


class MetadataResponseBroker(Struct):
    """The address of a broker, as clients should use it."""

    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(versions=since(1), nullable=True, default=None)


class MetadataResponsePartition(Struct):
    """Who leads a partition and who holds copies of it."""

    error_code: int = int16()
    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32(versions=since(7), default=-1)
    replica_nodes: list[int] = array(of=int32)
    isr_nodes: list[int] = array(of=int32)
    offline_replicas: list[int] = array(of=int32, versions=since(5))


class MetadataResponseTopic(Struct):
    """A topic. The name is null where an unknown id was asked for (from 12)."""

    error_code: int = int16()
    name: str | None = string(nullable=since(12), default="")
    topic_id: bytes = uuid(versions=since(10))
    is_internal: bool = boolean(versions=since(1))
    partitions: list[MetadataResponsePartition] = array()
    topic_authorized_operations: int = int32(
        versions=since(8), default=OPERATIONS_NOT_ASKED
    )


class MetadataResponse(Response, api_key=ApiKey.METADATA, versions=(0, 13), flexible=9):
    """The cluster as this broker sees it."""

    throttle_time_ms: int = int32(versions=since(3))
    brokers: list[MetadataResponseBroker] = array()
    cluster_id: str | None = string(versions=since(2), nullable=True, default=None)
    controller_id: int = int32(versions=since(1), default=-1)
    topics: list[MetadataResponseTopic] = array()
    cluster_authorized_operations: int = int32(
        versions=between(8, 10), default=OPERATIONS_NOT_ASKED
    )
    error_code: int = int16(versions=since(13))


class TopicRequest(Struct):
    """A topic to describe, by name."""

    name: str = string()


class Cursor(Struct):
    """The first partition of the next page."""

    topic_name: str = string()
    partition_index: int = int32()


class DescribeTopicPartitionsRequest(
    Request, api_key=ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions=(0, 0), flexible=0
):
    """Describe these topics, or all when none is named, from the cursor on."""

    topics: list[TopicRequest] = array()
    response_partition_limit: int = int32(default=2000)
    cursor: Cursor | None = struct(nullable=True, default=None)


class DescribeTopicPartitionsResponsePartition(Struct):
    """Who leads a partition, holds copies of it, or could lead it (KIP-966)."""

    error_code: int = int16()
    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32(default=-1)
    replica_nodes: list[int] = array(of=int32)
    isr_nodes: list[int] = array(of=int32)
    eligible_leader_replicas: list[int] | None = array(
        of=int32, nullable=True, default=None
    )
    last_known_elr: list[int] | None = array(of=int32, nullable=True, default=None)
    offline_replicas: list[int] = array(of=int32)


class DescribeTopicPartitionsResponseTopic(Struct):
    """A topic with those of its partitions that are on this page."""

    error_code: int = int16()
    name: str | None = string(nullable=True, default="")
    topic_id: bytes = uuid()
    is_internal: bool = boolean()
    partitions: list[DescribeTopicPartitionsResponsePartition] = array()
    topic_authorized_operations: int = int32(default=OPERATIONS_NOT_ASKED)


class DescribeTopicPartitionsResponse(
    Response, api_key=ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions=(0, 0), flexible=0
):
    """One page of topics; the next begins at the cursor, null after the last."""

    throttle_time_ms: int = int32()
    topics: list[DescribeTopicPartitionsResponseTopic] = array()
    next_cursor: Cursor | None = struct(nullable=True, default=None)

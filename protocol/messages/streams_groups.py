"""Streams groups (KIP-1071): applications of Kafka Streams whose tasks we assign."""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    string,
    struct,
    uint16,
)

OPERATIONS_NOT_ASKED_FOR = -(1 << 31)


class StreamsKeyValue(Struct):
    """An option of a topic, or a tag of a client."""

    key: str = string()
    value: str = string()


class StreamsTopicInfo(Struct):
    """An internal topic. 0: the broker finds out how many partitions, or replicas."""

    name: str = string()
    partitions: int = int32()
    replication_factor: int = int16()
    topic_configs: list[StreamsKeyValue] = array()


class StreamsCopartitionGroup(Struct):
    """Inputs with the same number of partitions, by their places in the subtopology."""

    source_topics: list[int] = array(of=int16)
    source_topic_regex: list[int] = array(of=int16)
    repartition_source_topics: list[int] = array(of=int16)


class StreamsHeartbeatSubtopology(Struct):
    """One part of an application: what it reads, keeps and hands on."""

    subtopology_id: str = string()
    source_topics: list[str] = array()
    source_topic_regex: list[str] = array()
    state_changelog_topics: list[StreamsTopicInfo] = array()
    repartition_sink_topics: list[str] = array()
    repartition_source_topics: list[StreamsTopicInfo] = array()
    copartition_groups: list[StreamsCopartitionGroup] = array()


class StreamsHeartbeatTopology(Struct):
    """All that an application computes."""

    epoch: int = int32()
    subtopologies: list[StreamsHeartbeatSubtopology] = array()


class StreamsTaskIds(Struct):
    """Tasks of one subtopology, by the partitions that they read."""

    subtopology_id: str = string()
    partitions: list[int] = array(of=int32)


class StreamsTaskOffset(Struct):
    """How far the state of a task has come."""

    subtopology_id: str = string()
    partition: int = int32()
    offset: int = int64()


class StreamsEndpoint(Struct):
    """Where a process answers questions about its state."""

    host: str = string()
    port: int = uint16()


class StreamsGroupHeartbeatRequest(
    Request, api_key=ApiKey.STREAMS_GROUP_HEARTBEAT, versions=(0, 0), flexible=0
):
    """A member joins (epoch 0), is alive, or leaves (epoch -1, static members -2).

    What has not changed since the last heartbeat is None, or -1.
    """

    group_id: str = string()
    member_id: str = string()
    member_epoch: int = int32()
    endpoint_information_epoch: int = int32()
    instance_id: str | None = string(nullable=True, default=None)
    rack_id: str | None = string(nullable=True, default=None)
    rebalance_timeout_ms: int = int32(default=-1)
    topology: StreamsHeartbeatTopology | None = struct(nullable=True, default=None)
    active_tasks: list[StreamsTaskIds] | None = array(nullable=True, default=None)
    standby_tasks: list[StreamsTaskIds] | None = array(nullable=True, default=None)
    warmup_tasks: list[StreamsTaskIds] | None = array(nullable=True, default=None)
    process_id: str | None = string(nullable=True, default=None)
    user_endpoint: StreamsEndpoint | None = struct(nullable=True, default=None)
    client_tags: list[StreamsKeyValue] | None = array(nullable=True, default=None)
    task_offsets: list[StreamsTaskOffset] | None = array(nullable=True, default=None)
    task_end_offsets: list[StreamsTaskOffset] | None = array(
        nullable=True, default=None
    )
    shutdown_application: bool = boolean()


class StreamsStatus(Struct):
    """Something that a member should know of its group."""

    status_code: int = int8()
    status_detail: str = string()


class StreamsTopicPartitions(Struct):
    """Partitions of one topic, by its name."""

    topic: str = string()
    partitions: list[int] = array(of=int32)


class StreamsEndpointPartitions(Struct):
    """The partitions whose state a process has."""

    user_endpoint: StreamsEndpoint = struct()
    active_partitions: list[StreamsTopicPartitions] = array()
    standby_partitions: list[StreamsTopicPartitions] = array()


class StreamsGroupHeartbeatResponse(
    Response, api_key=ApiKey.STREAMS_GROUP_HEARTBEAT, versions=(0, 0), flexible=0
):
    """Which epoch the member is in, and what it works on."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)
    member_id: str = string()
    member_epoch: int = int32()
    heartbeat_interval_ms: int = int32()
    acceptable_recovery_lag: int = int32()
    task_offset_interval_ms: int = int32()
    status: list[StreamsStatus] | None = array(nullable=True)
    active_tasks: list[StreamsTaskIds] | None = array(nullable=True, default=None)
    standby_tasks: list[StreamsTaskIds] | None = array(nullable=True, default=None)
    warmup_tasks: list[StreamsTaskIds] | None = array(nullable=True, default=None)
    endpoint_information_epoch: int = int32()
    partitions_by_user_endpoint: list[StreamsEndpointPartitions] | None = array(
        nullable=True, default=None
    )


class StreamsGroupDescribeRequest(
    Request, api_key=ApiKey.STREAMS_GROUP_DESCRIBE, versions=(0, 0), flexible=0
):
    """What are these streams groups doing?"""

    group_ids: list[str] = array()
    include_authorized_operations: bool = boolean()


class StreamsGroupSubtopology(Struct):
    """One part of an application, with its topics."""

    subtopology_id: str = string()
    source_topics: list[str] = array()
    repartition_sink_topics: list[str] = array()
    state_changelog_topics: list[StreamsTopicInfo] = array()
    repartition_source_topics: list[StreamsTopicInfo] = array()


class StreamsGroupTopology(Struct):
    """All that an application computes."""

    epoch: int = int32()
    subtopologies: list[StreamsGroupSubtopology] | None = array(
        nullable=True, default=None
    )


class StreamsGroupAssignment(Struct):
    """Tasks of one member, by their role."""

    active_tasks: list[StreamsTaskIds] = array()
    standby_tasks: list[StreamsTaskIds] = array()
    warmup_tasks: list[StreamsTaskIds] = array()


class StreamsGroupMember(Struct):
    """A member: what it works on now, and what it shall work on in the end."""

    member_id: str = string()
    member_epoch: int = int32()
    instance_id: str | None = string(nullable=True, default=None)
    rack_id: str | None = string(nullable=True, default=None)
    client_id: str = string()
    client_host: str = string()
    topology_epoch: int = int32()
    process_id: str = string()
    user_endpoint: StreamsEndpoint | None = struct(nullable=True, default=None)
    client_tags: list[StreamsKeyValue] = array()
    task_offsets: list[StreamsTaskOffset] = array()
    task_end_offsets: list[StreamsTaskOffset] = array()
    assignment: StreamsGroupAssignment = struct()
    target_assignment: StreamsGroupAssignment = struct()
    is_classic: bool = boolean()


class DescribedStreamsGroup(Struct):
    """A streams group, or why there is none to describe."""

    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)
    group_id: str = string()
    group_state: str = string()
    group_epoch: int = int32()
    assignment_epoch: int = int32()
    topology: StreamsGroupTopology | None = struct(nullable=True, default=None)
    members: list[StreamsGroupMember] = array()
    authorized_operations: int = int32(default=OPERATIONS_NOT_ASKED_FOR)


class StreamsGroupDescribeResponse(
    Response, api_key=ApiKey.STREAMS_GROUP_DESCRIBE, versions=(0, 0), flexible=0
):
    """One answer for each group."""

    throttle_time_ms: int = int32()
    groups: list[DescribedStreamsGroup] = array()

"""Consumer groups whose coordinator assigns the partitions (KIP-848)."""

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
    since,
    string,
    struct,
    uuid,
)

OPERATIONS_NOT_ASKED_FOR = -(1 << 31)


class HeartbeatTopicPartitions(Struct):
    """Partitions of one topic, by its id."""

    topic_id: bytes = uuid()
    partitions: list[int] = array(of=int32)


class ConsumerGroupHeartbeatRequest(
    Request, api_key=ApiKey.CONSUMER_GROUP_HEARTBEAT, versions=(0, 1), flexible=0
):
    """A member joins (epoch 0), is alive, or leaves (epoch -1, static members -2).

    What has not changed since the last heartbeat is None, or -1.
    """

    group_id: str = string()
    member_id: str = string()
    member_epoch: int = int32()
    instance_id: str | None = string(nullable=True, default=None)
    rack_id: str | None = string(nullable=True, default=None)
    rebalance_timeout_ms: int = int32(default=-1)
    subscribed_topic_names: list[str] | None = array(nullable=True, default=None)
    subscribed_topic_regex: str | None = string(
        nullable=since(1), versions=since(1), default=None
    )
    server_assignor: str | None = string(nullable=True, default=None)
    topic_partitions: list[HeartbeatTopicPartitions] | None = array(nullable=True)


class HeartbeatAssignment(Struct):
    """The partitions that the member may use now."""

    topic_partitions: list[HeartbeatTopicPartitions] = array()


class ConsumerGroupHeartbeatResponse(
    Response, api_key=ApiKey.CONSUMER_GROUP_HEARTBEAT, versions=(0, 1), flexible=0
):
    """Which epoch the member is in, and what it reads."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)
    member_id: str | None = string(nullable=True, default=None)
    member_epoch: int = int32()
    heartbeat_interval_ms: int = int32()
    assignment: HeartbeatAssignment | None = struct(nullable=True, default=None)


class ConsumerGroupDescribeRequest(
    Request, api_key=ApiKey.CONSUMER_GROUP_DESCRIBE, versions=(0, 1), flexible=0
):
    """What are these consumer groups doing?"""

    group_ids: list[str] = array()
    include_authorized_operations: bool = boolean()


class ConsumerGroupTopicPartitions(Struct):
    """Partitions of one topic, by its id and its name."""

    topic_id: bytes = uuid()
    topic_name: str = string()
    partitions: list[int] = array(of=int32)


class ConsumerGroupAssignment(Struct):
    """The partitions of one member."""

    topic_partitions: list[ConsumerGroupTopicPartitions] = array()


class ConsumerGroupMember(Struct):
    """A member: what it reads now, and what it shall read in the end."""

    member_id: str = string()
    instance_id: str | None = string(nullable=True, default=None)
    rack_id: str | None = string(nullable=True, default=None)
    member_epoch: int = int32()
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array()
    subscribed_topic_regex: str | None = string(nullable=True, default=None)
    assignment: ConsumerGroupAssignment = struct()
    target_assignment: ConsumerGroupAssignment = struct()
    member_type: int = int8(versions=since(1), default=-1)


class DescribedConsumerGroup(Struct):
    """A consumer group, or why there is none to describe."""

    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)
    group_id: str = string()
    group_state: str = string()
    group_epoch: int = int32()
    assignment_epoch: int = int32()
    assignor_name: str = string()
    members: list[ConsumerGroupMember] = array()
    authorized_operations: int = int32(default=OPERATIONS_NOT_ASKED_FOR)


class ConsumerGroupDescribeResponse(
    Response, api_key=ApiKey.CONSUMER_GROUP_DESCRIBE, versions=(0, 1), flexible=0
):
    """One answer for each group."""

    throttle_time_ms: int = int32()
    groups: list[DescribedConsumerGroup] = array()

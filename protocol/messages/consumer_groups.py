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

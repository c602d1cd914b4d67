"""Share groups (KIP-932): who is in them, and which partitions they share."""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    string,
    struct,
    uuid,
)

OPERATIONS_NOT_ASKED_FOR = -(1 << 31)


class ShareGroupHeartbeatRequest(
    Request, api_key=ApiKey.SHARE_GROUP_HEARTBEAT, versions=(1, 1), flexible=0
):
    """A member joins (epoch 0), is alive, or leaves (epoch -1).

    What has not changed since the last heartbeat is None.
    """

    group_id: str = string()
    member_id: str = string()
    member_epoch: int = int32()
    rack_id: str | None = string(nullable=True, default=None)
    subscribed_topic_names: list[str] | None = array(nullable=True, default=None)


class ShareHeartbeatTopicPartitions(Struct):
    """Partitions of one topic, by its id."""

    topic_id: bytes = uuid()
    partitions: list[int] = array(of=int32)


class ShareHeartbeatAssignment(Struct):
    """The partitions that the member fetches from."""

    topic_partitions: list[ShareHeartbeatTopicPartitions] = array()


class ShareGroupHeartbeatResponse(
    Response, api_key=ApiKey.SHARE_GROUP_HEARTBEAT, versions=(1, 1), flexible=0
):
    """Which epoch the member is in, and what it reads."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)
    member_id: str | None = string(nullable=True, default=None)
    member_epoch: int = int32()
    heartbeat_interval_ms: int = int32()
    assignment: ShareHeartbeatAssignment | None = struct(nullable=True, default=None)


class ShareGroupDescribeRequest(
    Request, api_key=ApiKey.SHARE_GROUP_DESCRIBE, versions=(1, 1), flexible=0
):
    """What are these share groups doing?"""

    group_ids: list[str] = array()
    include_authorized_operations: bool = boolean()


class ShareGroupTopicPartitions(Struct):
    """Partitions of one topic, by its id and its name."""

    topic_id: bytes = uuid()
    topic_name: str = string()
    partitions: list[int] = array(of=int32)


class ShareGroupAssignment(Struct):
    """The partitions of one member."""

    topic_partitions: list[ShareGroupTopicPartitions] = array()


class ShareGroupMember(Struct):
    """A member, and what it reads."""

    member_id: str = string()
    rack_id: str | None = string(nullable=True, default=None)
    member_epoch: int = int32()
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array()
    assignment: ShareGroupAssignment = struct()


class DescribedShareGroup(Struct):
    """A share group, or why there is none to describe."""

    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)
    group_id: str = string()
    group_state: str = string()
    group_epoch: int = int32()
    assignment_epoch: int = int32()
    assignor_name: str = string()
    members: list[ShareGroupMember] = array()
    authorized_operations: int = int32(default=OPERATIONS_NOT_ASKED_FOR)


class ShareGroupDescribeResponse(
    Response, api_key=ApiKey.SHARE_GROUP_DESCRIBE, versions=(1, 1), flexible=0
):
    """One answer for each group."""

    throttle_time_ms: int = int32()
    groups: list[DescribedShareGroup] = array()

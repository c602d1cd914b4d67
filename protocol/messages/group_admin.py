"""What administrators ask of group coordinators: describe, list, delete."""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.primitives import Buffer
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    bytes_,
    int16,
    int32,
    since,
    string,
)

OPERATIONS_NOT_ASKED_FOR = -(1 << 31)


class DescribeGroupsRequest(
    Request, api_key=ApiKey.DESCRIBE_GROUPS, versions=(0, 6), flexible=5
):
    """What are these classic groups doing?"""

    groups: list[str] = array()
    include_authorized_operations: bool = boolean(versions=since(3))


class DescribedGroupMember(Struct):
    """A member of a classic group; its bytes are those of its protocol."""

    member_id: str = string()
    group_instance_id: str | None = string(
        versions=since(4), nullable=True, default=None
    )
    client_id: str = string()
    client_host: str = string()
    member_metadata: Buffer = bytes_()
    member_assignment: Buffer = bytes_()


class DescribedGroup(Struct):
    """A classic group; an unknown one is Dead."""

    error_code: int = int16()
    error_message: str | None = string(versions=since(6), nullable=True, default=None)
    group_id: str = string()
    group_state: str = string()
    protocol_type: str = string()
    protocol_data: str = string()
    members: list[DescribedGroupMember] = array()
    authorized_operations: int = int32(
        versions=since(3), default=OPERATIONS_NOT_ASKED_FOR
    )


class DescribeGroupsResponse(
    Response, api_key=ApiKey.DESCRIBE_GROUPS, versions=(0, 6), flexible=5
):
    """One answer for each group."""

    throttle_time_ms: int = int32(versions=since(1))
    groups: list[DescribedGroup] = array()


class ListGroupsRequest(
    Request, api_key=ApiKey.LIST_GROUPS, versions=(0, 5), flexible=3
):
    """Which groups are there, in these states and of these types (all when empty)?"""

    states_filter: list[str] = array(versions=since(4))
    types_filter: list[str] = array(versions=since(5))


class ListedGroup(Struct):
    """A group, with its state from version 4 and its type from version 5."""

    group_id: str = string()
    protocol_type: str = string()
    group_state: str = string(versions=since(4))
    group_type: str = string(versions=since(5))


class ListGroupsResponse(
    Response, api_key=ApiKey.LIST_GROUPS, versions=(0, 5), flexible=3
):
    """The groups that this broker coordinates."""

    throttle_time_ms: int = int32(versions=since(1))
    error_code: int = int16()
    groups: list[ListedGroup] = array()


class DeleteGroupsRequest(
    Request, api_key=ApiKey.DELETE_GROUPS, versions=(0, 2), flexible=2
):
    """Forget these groups, and what they have committed."""

    groups_names: list[str] = array()


class DeletableGroupResult(Struct):
    """What became of one group."""

    group_id: str = string()
    error_code: int = int16()


class DeleteGroupsResponse(
    Response, api_key=ApiKey.DELETE_GROUPS, versions=(0, 2), flexible=2
):
    """One answer for each group."""

    throttle_time_ms: int = int32()
    results: list[DeletableGroupResult] = array()


class OffsetDeleteRequestPartition(Struct):
    """A partition whose offset is to be forgotten."""

    partition_index: int = int32()


class OffsetDeleteRequestTopic(Struct):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[OffsetDeleteRequestPartition] = array()


class OffsetDeleteRequest(Request, api_key=ApiKey.OFFSET_DELETE, versions=(0, 0)):
    """Forget where a group is in these partitions (KIP-496)."""

    group_id: str = string()
    topics: list[OffsetDeleteRequestTopic] = array()


class OffsetDeleteResponsePartition(Struct):
    """What became of one partition."""

    partition_index: int = int32()
    error_code: int = int16()


class OffsetDeleteResponseTopic(Struct):
    """What became of the partitions of one topic."""

    name: str = string()
    partitions: list[OffsetDeleteResponsePartition] = array()


class OffsetDeleteResponse(Response, api_key=ApiKey.OFFSET_DELETE, versions=(0, 0)):
    """One answer for each partition, or one error for the group."""

    error_code: int = int16()
    throttle_time_ms: int = int32()
    topics: list[OffsetDeleteResponseTopic] = array()

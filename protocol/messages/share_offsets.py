"""Where share groups are (KIP-932): told, moved and forgotten by administrators."""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    int64,
    since,
    string,
    uuid,
)


class DescribeShareGroupOffsetsRequestTopic(Struct):
    """Partitions of one topic."""

    topic_name: str = string()
    partitions: list[int] = array(of=int32)


class DescribeShareGroupOffsetsRequestGroup(Struct):
    """A group, and the partitions to tell about; None: all that it has a place in."""

    group_id: str = string()
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = array(nullable=True)


class DescribeShareGroupOffsetsRequest(
    Request, api_key=ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, versions=(0, 1), flexible=0
):
    """Where are these groups?"""

    groups: list[DescribeShareGroupOffsetsRequestGroup] = array()


class DescribeShareGroupOffsetsResponsePartition(Struct):
    """The first record that is not done, and how many are not; -1: not known."""

    partition_index: int = int32()
    start_offset: int = int64()
    leader_epoch: int = int32()
    lag: int = int64(versions=since(1), default=-1)
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)


class DescribeShareGroupOffsetsResponseTopic(Struct):
    """Where a group is in the partitions of one topic."""

    topic_name: str = string()
    topic_id: bytes = uuid()
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = array()


class DescribeShareGroupOffsetsResponseGroup(Struct):
    """Where a group is, or why that cannot be told."""

    group_id: str = string()
    topics: list[DescribeShareGroupOffsetsResponseTopic] = array()
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)


class DescribeShareGroupOffsetsResponse(
    Response, api_key=ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, versions=(0, 1), flexible=0
):
    """One answer for each group."""

    throttle_time_ms: int = int32()
    groups: list[DescribeShareGroupOffsetsResponseGroup] = array()


class AlterShareGroupOffsetsRequestPartition(Struct):
    """Where the group shall go on in a partition."""

    partition_index: int = int32()
    start_offset: int = int64()


class AlterShareGroupOffsetsRequestTopic(Struct):
    """Where the group shall go on in one topic."""

    topic_name: str = string()
    partitions: list[AlterShareGroupOffsetsRequestPartition] = array()


class AlterShareGroupOffsetsRequest(
    Request, api_key=ApiKey.ALTER_SHARE_GROUP_OFFSETS, versions=(0, 0), flexible=0
):
    """Move a group without members."""

    group_id: str = string()
    topics: list[AlterShareGroupOffsetsRequestTopic] = array()


class AlterShareGroupOffsetsResponsePartition(Struct):
    """What became of one partition."""

    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)


class AlterShareGroupOffsetsResponseTopic(Struct):
    """What became of the partitions of one topic."""

    topic_name: str = string()
    topic_id: bytes = uuid()
    partitions: list[AlterShareGroupOffsetsResponsePartition] = array()


class AlterShareGroupOffsetsResponse(
    Response, api_key=ApiKey.ALTER_SHARE_GROUP_OFFSETS, versions=(0, 0), flexible=0
):
    """One answer for each partition, or one error for the group."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)
    responses: list[AlterShareGroupOffsetsResponseTopic] = array()


class DeleteShareGroupOffsetsRequestTopic(Struct):
    """A topic."""

    topic_name: str = string()


class DeleteShareGroupOffsetsRequest(
    Request, api_key=ApiKey.DELETE_SHARE_GROUP_OFFSETS, versions=(0, 0), flexible=0
):
    """Forget where a group without members is in these topics."""

    group_id: str = string()
    topics: list[DeleteShareGroupOffsetsRequestTopic] = array()


class DeleteShareGroupOffsetsResponseTopic(Struct):
    """What became of one topic."""

    topic_name: str = string()
    topic_id: bytes = uuid()
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)


class DeleteShareGroupOffsetsResponse(
    Response, api_key=ApiKey.DELETE_SHARE_GROUP_OFFSETS, versions=(0, 0), flexible=0
):
    """One answer for each topic, or one error for the group."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)
    responses: list[DeleteShareGroupOffsetsResponseTopic] = array()

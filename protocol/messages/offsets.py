"""Offsets that groups have committed: OffsetCommit and OffsetFetch.

From version 10 of both on topics are called by their ids (KIP-848).
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
    int64,
    since,
    string,
    until,
    uuid,
)


class OffsetCommitRequestPartition(Struct):
    """The next offset to read of one partition, with a note of the client."""

    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32(versions=since(6), default=-1)
    committed_metadata: str | None = string(nullable=True, default="")


class OffsetCommitRequestTopic(Struct):
    """The partitions of one topic to commit."""

    name: str = string(versions=until(9))
    topic_id: bytes = uuid(versions=since(10))
    partitions: list[OffsetCommitRequestPartition] = array()


class OffsetCommitRequest(
    Request, api_key=ApiKey.OFFSET_COMMIT, versions=(2, 10), flexible=8
):
    """Remember where a group is. A client without a group's member sends -1 and ""."""

    group_id: str = string()
    generation_id_or_member_epoch: int = int32(default=-1)
    member_id: str = string()
    group_instance_id: str | None = string(
        versions=since(7), nullable=True, default=None
    )
    retention_time_ms: int = int64(versions=until(4), default=-1)
    topics: list[OffsetCommitRequestTopic] = array()


class OffsetCommitResponsePartition(Struct):
    """Whether one partition was committed."""

    partition_index: int = int32()
    error_code: int = int16()


class OffsetCommitResponseTopic(Struct):
    """What became of the partitions of one topic."""

    name: str = string(versions=until(9))
    topic_id: bytes = uuid(versions=since(10))
    partitions: list[OffsetCommitResponsePartition] = array()


class OffsetCommitResponse(
    Response, api_key=ApiKey.OFFSET_COMMIT, versions=(2, 10), flexible=8
):
    """What became of each partition."""

    throttle_time_ms: int = int32(versions=since(3))
    topics: list[OffsetCommitResponseTopic] = array()


class OffsetFetchRequestTopic(Struct):
    """The partitions of one topic to look up, up to version 7."""

    name: str = string()
    partition_indexes: list[int] = array(of=int32)


class OffsetFetchRequestTopics(Struct):
    """The partitions of one topic to look up, from version 8 on."""

    name: str = string(versions=until(9))
    topic_id: bytes = uuid(versions=since(10))
    partition_indexes: list[int] = array(of=int32)


class OffsetFetchRequestGroup(Struct):
    """A group to look up, and in which topics; null means all it committed."""

    group_id: str = string()
    member_id: str | None = string(versions=since(9), nullable=True, default=None)
    member_epoch: int = int32(versions=since(9), default=-1)
    topics: list[OffsetFetchRequestTopics] | None = array(nullable=True)


class OffsetFetchRequest(
    Request, api_key=ApiKey.OFFSET_FETCH, versions=(1, 10), flexible=6
):
    """Where is a group? From version 8 many groups at once (KIP-709)."""

    group_id: str = string(versions=until(7))
    topics: list[OffsetFetchRequestTopic] | None = array(
        versions=until(7), nullable=since(2)
    )
    groups: list[OffsetFetchRequestGroup] = array(versions=since(8))
    require_stable: bool = boolean(versions=since(7))


class OffsetFetchResponsePartition(Struct):
    """The committed offset of one partition, -1 if there is none; up to version 7."""

    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32(versions=since(5), default=-1)
    metadata: str | None = string(nullable=True, default="")
    error_code: int = int16()


class OffsetFetchResponseTopic(Struct):
    """What was committed of one topic, up to version 7."""

    name: str = string()
    partitions: list[OffsetFetchResponsePartition] = array()


class OffsetFetchResponsePartitions(Struct):
    """The committed offset of one partition, -1 if there is none; from version 8."""

    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32(default=-1)
    metadata: str | None = string(nullable=True, default="")
    error_code: int = int16()


class OffsetFetchResponseTopics(Struct):
    """What was committed of one topic, from version 8 on."""

    name: str = string(versions=until(9))
    topic_id: bytes = uuid(versions=since(10))
    partitions: list[OffsetFetchResponsePartitions] = array()


class OffsetFetchResponseGroup(Struct):
    """What one group committed."""

    group_id: str = string()
    topics: list[OffsetFetchResponseTopics] = array()
    error_code: int = int16()


class OffsetFetchResponse(
    Response, api_key=ApiKey.OFFSET_FETCH, versions=(1, 10), flexible=6
):
    """What was committed; from version 8 group by group."""

    throttle_time_ms: int = int32(versions=since(3))
    topics: list[OffsetFetchResponseTopic] = array(versions=until(7))
    error_code: int = int16(versions=between(2, 7))
    groups: list[OffsetFetchResponseGroup] = array(versions=since(8))

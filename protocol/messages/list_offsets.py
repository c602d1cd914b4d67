"""Offsets by time or by leader epoch: ListOffsets and OffsetForLeaderEpoch."""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    int8,
    int16,
    int32,
    int64,
    since,
    string,
)


class ListOffsetsPartition(Struct):
    """The moment whose offset is wanted; negative ones are places, like the end."""

    partition_index: int = int32()
    current_leader_epoch: int = int32(versions=since(4), default=-1)
    timestamp: int = int64()


class ListOffsetsTopic(Struct):
    """The partitions of one topic to look into."""

    name: str = string()
    partitions: list[ListOffsetsPartition] = array()


class ListOffsetsRequest(
    Request, api_key=ApiKey.LIST_OFFSETS, versions=(1, 11), flexible=6
):
    """The first offset at or after a moment, for each partition."""

    replica_id: int = int32()
    isolation_level: int = int8(versions=since(2))
    topics: list[ListOffsetsTopic] = array()
    timeout_ms: int = int32(versions=since(10))


class ListOffsetsPartitionResponse(Struct):
    """The record that was found, -1 where there is none."""

    partition_index: int = int32()
    error_code: int = int16()
    timestamp: int = int64(default=-1)
    offset: int = int64(default=-1)
    leader_epoch: int = int32(versions=since(4), default=-1)


class ListOffsetsTopicResponse(Struct):
    """What was found in one topic."""

    name: str = string()
    partitions: list[ListOffsetsPartitionResponse] = array()


class ListOffsetsResponse(
    Response, api_key=ApiKey.LIST_OFFSETS, versions=(1, 11), flexible=6
):
    """What was found in each partition."""

    throttle_time_ms: int = int32(versions=since(2))
    topics: list[ListOffsetsTopicResponse] = array()


class OffsetForLeaderPartition(Struct):
    """The epoch whose end is wanted, and the epoch the asker believes is current."""

    partition: int = int32()
    current_leader_epoch: int = int32(default=-1)
    leader_epoch: int = int32()


class OffsetForLeaderTopic(Struct):
    """The partitions of one topic to look into."""

    topic: str = string()
    partitions: list[OffsetForLeaderPartition] = array()


class OffsetForLeaderEpochRequest(
    Request, api_key=ApiKey.OFFSET_FOR_LEADER_EPOCH, versions=(2, 4), flexible=4
):
    """Where did a leader epoch end? Replica -2 is a consumer, -1 a tool (KIP-320)."""

    replica_id: int = int32(versions=since(3), default=-2)
    topics: list[OffsetForLeaderTopic] = array()


class EpochEndOffset(Struct):
    """The last epoch up to the one asked for, and where it ended; -1 if unknown."""

    error_code: int = int16()
    partition: int = int32()
    leader_epoch: int = int32(default=-1)
    end_offset: int = int64(default=-1)


class OffsetForLeaderTopicResult(Struct):
    """What was found in one topic."""

    topic: str = string()
    partitions: list[EpochEndOffset] = array()


class OffsetForLeaderEpochResponse(
    Response, api_key=ApiKey.OFFSET_FOR_LEADER_EPOCH, versions=(2, 4), flexible=4
):
    """Where the epochs ended."""

    throttle_time_ms: int = int32()
    topics: list[OffsetForLeaderTopicResult] = array()

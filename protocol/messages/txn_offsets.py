"""TxnOffsetCommit: offsets that groups get with a transaction, or not at all."""

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
)


class TxnOffsetCommitRequestPartition(Struct):
    """The next offset to read of one partition, with a note of the client."""

    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32(versions=since(2), default=-1)
    committed_metadata: str | None = string(nullable=True, default="")


class TxnOffsetCommitRequestTopic(Struct):
    """The partitions of one topic to commit."""

    name: str = string()
    partitions: list[TxnOffsetCommitRequestPartition] = array()


class TxnOffsetCommitRequest(
    Request, api_key=ApiKey.TXN_OFFSET_COMMIT, versions=(0, 5), flexible=3
):
    """Let a transaction move a group, once it is committed.

    From version 3 on producers say for which member of the group (KIP-447); from
    version 5 on the request itself lets the group take part (KIP-890).
    """

    transactional_id: str = string()
    group_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    generation_id: int = int32(versions=since(3), default=-1)
    member_id: str = string(versions=since(3))
    group_instance_id: str | None = string(
        versions=since(3), nullable=True, default=None
    )
    topics: list[TxnOffsetCommitRequestTopic] = array()


class TxnOffsetCommitResponsePartition(Struct):
    """Whether one partition is part of the transaction."""

    partition_index: int = int32()
    error_code: int = int16()


class TxnOffsetCommitResponseTopic(Struct):
    """What became of the partitions of one topic."""

    name: str = string()
    partitions: list[TxnOffsetCommitResponsePartition] = array()


class TxnOffsetCommitResponse(
    Response, api_key=ApiKey.TXN_OFFSET_COMMIT, versions=(0, 5), flexible=3
):
    """What became of each partition."""

    throttle_time_ms: int = int32()
    topics: list[TxnOffsetCommitResponseTopic] = array()

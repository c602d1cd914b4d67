"""The state of share partitions, as brokers ask its coordinator for it (KIP-932).

A share partition is a partition as one share group sees it: what was handed out, and
what became of it. Where an answer has no state, offsets are -1.
"""

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
    uuid,
)


class ShareStateBatch(Struct):
    """The state of the records from ``first_offset`` to ``last_offset``, included.

    ``delivery_state`` is 0 available, 2 acknowledged, 4 archived.
    """

    first_offset: int = int64()
    last_offset: int = int64()
    delivery_state: int = int8()
    delivery_count: int = int16()


class ShareStatePartitionResult(Struct):
    """What became of one share partition."""

    partition: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)


class ShareStateResult(Struct):
    """What became of the share partitions of one topic."""

    topic_id: bytes = uuid()
    partitions: list[ShareStatePartitionResult] = array()


class ShareStatePartitionToRead(Struct):
    """A share partition, and the leader epoch of who asks."""

    partition: int = int32()
    leader_epoch: int = int32()


class ShareStateTopicToRead(Struct):
    """The share partitions of one topic."""

    topic_id: bytes = uuid()
    partitions: list[ShareStatePartitionToRead] = array()


class ShareStatePartitionToInitialize(Struct):
    """Where a share partition begins; -1: its first fetch decides."""

    partition: int = int32()
    state_epoch: int = int32()
    start_offset: int = int64()


class ShareStateTopicToInitialize(Struct):
    """The share partitions of one topic."""

    topic_id: bytes = uuid()
    partitions: list[ShareStatePartitionToInitialize] = array()


class InitializeShareGroupStateRequest(
    Request, api_key=ApiKey.INITIALIZE_SHARE_GROUP_STATE, versions=(0, 0), flexible=0
):
    """Begin the state of share partitions."""

    group_id: str = string()
    topics: list[ShareStateTopicToInitialize] = array()


class InitializeShareGroupStateResponse(
    Response, api_key=ApiKey.INITIALIZE_SHARE_GROUP_STATE, versions=(0, 0), flexible=0
):
    """One answer for each share partition."""

    results: list[ShareStateResult] = array()


class ReadShareGroupStateRequest(
    Request, api_key=ApiKey.READ_SHARE_GROUP_STATE, versions=(0, 0), flexible=0
):
    """What is the state of these share partitions?"""

    group_id: str = string()
    topics: list[ShareStateTopicToRead] = array()


class SharePartitionState(Struct):
    """The state of one share partition."""

    partition: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)
    state_epoch: int = int32()
    start_offset: int = int64()
    state_batches: list[ShareStateBatch] = array()


class ShareTopicState(Struct):
    """The states of the share partitions of one topic."""

    topic_id: bytes = uuid()
    partitions: list[SharePartitionState] = array()


class ReadShareGroupStateResponse(
    Response, api_key=ApiKey.READ_SHARE_GROUP_STATE, versions=(0, 0), flexible=0
):
    """One answer for each share partition."""

    results: list[ShareTopicState] = array()


class ShareStatePartitionToWrite(Struct):
    """What has changed in one share partition; a ``start_offset`` of -1: not that."""

    partition: int = int32()
    state_epoch: int = int32()
    leader_epoch: int = int32()
    start_offset: int = int64()
    delivery_complete_count: int = int32(versions=since(1), default=-1)
    state_batches: list[ShareStateBatch] = array()


class ShareStateTopicToWrite(Struct):
    """What has changed in the share partitions of one topic."""

    topic_id: bytes = uuid()
    partitions: list[ShareStatePartitionToWrite] = array()


class WriteShareGroupStateRequest(
    Request, api_key=ApiKey.WRITE_SHARE_GROUP_STATE, versions=(0, 1), flexible=0
):
    """Keep what has changed in share partitions."""

    group_id: str = string()
    topics: list[ShareStateTopicToWrite] = array()


class WriteShareGroupStateResponse(
    Response, api_key=ApiKey.WRITE_SHARE_GROUP_STATE, versions=(0, 1), flexible=0
):
    """One answer for each share partition."""

    results: list[ShareStateResult] = array()


class ShareStatePartitionToDelete(Struct):
    """A share partition."""

    partition: int = int32()


class ShareStateTopicToDelete(Struct):
    """The share partitions of one topic."""

    topic_id: bytes = uuid()
    partitions: list[ShareStatePartitionToDelete] = array()


class DeleteShareGroupStateRequest(
    Request, api_key=ApiKey.DELETE_SHARE_GROUP_STATE, versions=(0, 0), flexible=0
):
    """Forget the state of share partitions."""

    group_id: str = string()
    topics: list[ShareStateTopicToDelete] = array()


class DeleteShareGroupStateResponse(
    Response, api_key=ApiKey.DELETE_SHARE_GROUP_STATE, versions=(0, 0), flexible=0
):
    """One answer for each share partition."""

    results: list[ShareStateResult] = array()


class ReadShareGroupStateSummaryRequest(
    Request, api_key=ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, versions=(0, 1), flexible=0
):
    """How far are these share partitions?"""

    group_id: str = string()
    topics: list[ShareStateTopicToRead] = array()


class SharePartitionSummary(Struct):
    """Where a share partition begins, and how many records behind that are done."""

    partition: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)
    state_epoch: int = int32()
    leader_epoch: int = int32()
    start_offset: int = int64()
    delivery_complete_count: int = int32(versions=since(1), default=-1)


class ShareTopicSummary(Struct):
    """How far the share partitions of one topic are."""

    topic_id: bytes = uuid()
    partitions: list[SharePartitionSummary] = array()


class ReadShareGroupStateSummaryResponse(
    Response, api_key=ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, versions=(0, 1), flexible=0
):
    """One answer for each share partition."""

    results: list[ShareTopicSummary] = array()

"""ShareFetch and ShareAcknowledge: records of share groups, handed out and back.

A session stands for the partitions that both sides know (as in ``fetch``). Its key
are group and member; its epoch is 0 in the first request of it, -1 in the last one.
"""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.primitives import Buffer
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
    records,
    since,
    string,
    struct,
    uuid,
)

from .current_leader import NodeEndpoint


class AcknowledgementBatch(Struct):
    """What became of the records from ``first_offset`` to ``last_offset``, included.

    One type is for all of them, else there is one for each: 0 gap, 1 accept, 2 release,
    3 reject, 4 renew (KIP-1222).
    """

    first_offset: int = int64()
    last_offset: int = int64()
    acknowledge_types: list[int] = array(of=int8)


class ShareFetchPartition(Struct):
    """A partition to read, and what became of its records."""

    partition_index: int = int32()
    acknowledgement_batches: list[AcknowledgementBatch] = array()


class ShareFetchTopic(Struct):
    """The partitions of one topic to read, or to add to the session."""

    topic_id: bytes = uuid()
    partitions: list[ShareFetchPartition] = array()


class ShareForgottenTopic(Struct):
    """The partitions of one topic to take out of the session."""

    topic_id: bytes = uuid()
    partitions: list[int] = array(of=int32)


class ShareFetchRequest(
    Request, api_key=ApiKey.SHARE_FETCH, versions=(1, 2), flexible=0
):
    """Hand out records, waiting up to ``max_wait_ms`` for ``min_bytes``.

    ``share_acquire_mode`` is 0 for whole batches beyond ``max_records``, 1 for that
    many records and no more (KIP-1206).
    """

    group_id: str | None = string(nullable=True, default=None)
    member_id: str | None = string(nullable=True)
    share_session_epoch: int = int32()
    max_wait_ms: int = int32()
    min_bytes: int = int32()
    max_bytes: int = int32(default=0x7FFFFFFF)
    max_records: int = int32()
    batch_size: int = int32()
    share_acquire_mode: int = int8(versions=since(2))
    is_renew_ack: bool = boolean(versions=since(2))
    topics: list[ShareFetchTopic] = array()
    forgotten_topics_data: list[ShareForgottenTopic] = array()


class ShareLeaderIdAndEpoch(Struct):
    """The leader that a client should ask instead; zeros: it asked the right one."""

    leader_id: int = int32()
    leader_epoch: int = int32()


class AcquiredRecords(Struct):
    """Records that are the member's until their lock is over; how often they were."""

    first_offset: int = int64()
    last_offset: int = int64()
    delivery_count: int = int16()


class SharePartitionData(Struct):
    """What was read from one partition, and whether its acknowledgements were taken."""

    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)
    acknowledge_error_code: int = int16()
    acknowledge_error_message: str | None = string(nullable=True, default=None)
    current_leader: ShareLeaderIdAndEpoch = struct()
    records: Buffer = records(default=b"", nullable=False)
    acquired_records: list[AcquiredRecords] = array()


class ShareFetchableTopicResponse(Struct):
    """What was read from one topic."""

    topic_id: bytes = uuid()
    partitions: list[SharePartitionData] = array()


class ShareFetchResponse(
    Response, api_key=ApiKey.SHARE_FETCH, versions=(1, 2), flexible=0
):
    """The partitions with something new, and for how long their records are locked."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)
    acquisition_lock_timeout_ms: int = int32()
    responses: list[ShareFetchableTopicResponse] = array()
    node_endpoints: list[NodeEndpoint] = array()


class ShareAcknowledgePartition(Struct):
    """What became of the records of a partition."""

    partition_index: int = int32()
    acknowledgement_batches: list[AcknowledgementBatch] = array()


class ShareAcknowledgeTopic(Struct):
    """What became of the records of one topic."""

    topic_id: bytes = uuid()
    partitions: list[ShareAcknowledgePartition] = array()


class ShareAcknowledgeRequest(
    Request, api_key=ApiKey.SHARE_ACKNOWLEDGE, versions=(1, 2), flexible=0
):
    """Tell what became of records, and read nothing."""

    group_id: str | None = string(nullable=True, default=None)
    member_id: str | None = string(nullable=True)
    share_session_epoch: int = int32()
    is_renew_ack: bool = boolean(versions=since(2))
    topics: list[ShareAcknowledgeTopic] = array()


class ShareAcknowledgePartitionData(Struct):
    """Whether the acknowledgements of a partition were taken."""

    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)
    current_leader: ShareLeaderIdAndEpoch = struct()


class ShareAcknowledgeTopicResponse(Struct):
    """Whether the acknowledgements of a topic were taken."""

    topic_id: bytes = uuid()
    partitions: list[ShareAcknowledgePartitionData] = array()


class ShareAcknowledgeResponse(
    Response, api_key=ApiKey.SHARE_ACKNOWLEDGE, versions=(1, 2), flexible=0
):
    """One answer for each partition."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)
    acquisition_lock_timeout_ms: int = int32(versions=since(2))
    responses: list[ShareAcknowledgeTopicResponse] = array()
    node_endpoints: list[NodeEndpoint] = array()

"""Fetch: records of many partitions from given offsets on.

From version 7 on a session can stand for the partitions that both sides already
know (KIP-227): a request then names what changed, an answer what is new. From 13
on topics are called by their ids (KIP-516).
"""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.primitives import Buffer
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    int8,
    int16,
    int32,
    int64,
    records,
    since,
    string,
    struct,
    until,
    uuid,
)

from .current_leader import LeaderIdAndEpoch, NodeEndpoint


class ReplicaState(Struct):
    """Which replica fetches; a consumer leaves both at -1 (KIP-903)."""

    replica_id: int = int32(default=-1)
    replica_epoch: int = int64(default=-1)


class FetchPartition(Struct):
    """Where to read one partition, and how much of it."""

    partition: int = int32()
    current_leader_epoch: int = int32(versions=since(9), default=-1)
    fetch_offset: int = int64()
    last_fetched_epoch: int = int32(versions=since(12), default=-1)
    log_start_offset: int = int64(versions=since(5), default=-1)
    partition_max_bytes: int = int32()
    replica_directory_id: bytes = uuid(versions=since(17), tag=0)
    high_watermark: int = int64(versions=since(18), tag=1, default=(1 << 63) - 1)


class FetchTopic(Struct):
    """The partitions of one topic to read, or to add to the session."""

    topic: str = string(versions=until(12))
    topic_id: bytes = uuid(versions=since(13))
    partitions: list[FetchPartition] = array()


class ForgottenTopic(Struct):
    """The partitions of one topic to take out of the session."""

    topic: str = string(versions=until(12))
    topic_id: bytes = uuid(versions=since(13))
    partitions: list[int] = array(of=int32)


class FetchRequest(Request, api_key=ApiKey.FETCH, versions=(4, 18), flexible=12):
    """Read on, waiting up to ``max_wait_ms`` for ``min_bytes``."""

    cluster_id: str | None = string(
        versions=since(12), tag=0, nullable=True, default=None
    )
    replica_id: int = int32(versions=until(14), default=-1)
    replica_state: ReplicaState = struct(versions=since(15), tag=1)
    max_wait_ms: int = int32()
    min_bytes: int = int32()
    max_bytes: int = int32(default=0x7FFFFFFF)
    isolation_level: int = int8()
    session_id: int = int32(versions=since(7))
    session_epoch: int = int32(versions=since(7), default=-1)
    topics: list[FetchTopic] = array()
    forgotten_topics_data: list[ForgottenTopic] = array(versions=since(7))
    rack_id: str = string(versions=since(11))


class EpochEndOffset(Struct):
    """The end of the last epoch that leader and replica share."""

    epoch: int = int32(default=-1)
    end_offset: int = int64(default=-1)


class SnapshotId(Struct):
    """The snapshot to load where the log no longer begins early enough."""

    end_offset: int = int64(default=-1)
    epoch: int = int32(default=-1)


class AbortedTransaction(Struct):
    """A transaction whose records the consumer must drop."""

    producer_id: int = int64()
    first_offset: int = int64()


class PartitionData(Struct):
    """What was read from one partition. -1 stands for what is not known."""

    partition_index: int = int32()
    error_code: int = int16()
    high_watermark: int = int64()
    last_stable_offset: int = int64(default=-1)
    log_start_offset: int = int64(versions=since(5), default=-1)
    diverging_epoch: EpochEndOffset = struct(versions=since(12), tag=0)
    current_leader: LeaderIdAndEpoch = struct(versions=since(12), tag=1)
    snapshot_id: SnapshotId = struct(versions=since(12), tag=2)
    aborted_transactions: list[AbortedTransaction] | None = array(nullable=True)
    preferred_read_replica: int = int32(versions=since(11), default=-1)
    records: Buffer | None = records(nullable=True)


class FetchableTopicResponse(Struct):
    """What was read from one topic."""

    topic: str = string(versions=until(12))
    topic_id: bytes = uuid(versions=since(13))
    partitions: list[PartitionData] = array()


class FetchResponse(Response, api_key=ApiKey.FETCH, versions=(4, 18), flexible=12):
    """What was read; in a session only the partitions with something new."""

    throttle_time_ms: int = int32()
    error_code: int = int16(versions=since(7))
    session_id: int = int32(versions=since(7))
    responses: list[FetchableTopicResponse] = array()
    node_endpoints: list[NodeEndpoint] = array(versions=since(16), tag=0)

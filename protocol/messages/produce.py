"""Produce: batches of records to append, and what became of each.

Requests exist from version 3 on (record format 2). Answers are declared from 0,
because versions 0 to 2 are advertised and then refused: without them librdkafka
sends compressed batches uncompressed (KAFKA-18659).
"""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.primitives import Buffer
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
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


class PartitionProduceData(Struct):
    """The batch for one partition."""

    index: int = int32()
    records: Buffer | None = records(nullable=True)


class TopicProduceData(Struct):
    """The batches for one topic, called by its id from version 13 (KIP-516)."""

    name: str = string(versions=until(12))
    topic_id: bytes = uuid(versions=since(13))
    partition_data: list[PartitionProduceData] = array()


class ProduceRequest(Request, api_key=ApiKey.PRODUCE, versions=(3, 13), flexible=9):
    """Append one batch to each of the partitions."""

    transactional_id: str | None = string(nullable=True, default=None)
    acks: int = int16()
    timeout_ms: int = int32()
    topic_data: list[TopicProduceData] = array()


class BatchIndexAndErrorMessage(Struct):
    """A record, by its place in the batch, that made the batch be refused (KIP-467)."""

    batch_index: int = int32()
    batch_index_error_message: str | None = string(nullable=True, default=None)


class PartitionProduceResponse(Struct):
    """Where the batch of one partition went, or why it was refused."""

    index: int = int32()
    error_code: int = int16()
    base_offset: int = int64()
    log_append_time_ms: int = int64(versions=since(2), default=-1)
    log_start_offset: int = int64(versions=since(5), default=-1)
    record_errors: list[BatchIndexAndErrorMessage] = array(versions=since(8))
    error_message: str | None = string(versions=since(8), nullable=True, default=None)
    current_leader: LeaderIdAndEpoch = struct(versions=since(10), tag=0)


class TopicProduceResponse(Struct):
    """What became of the batches for one topic."""

    name: str = string(versions=until(12))
    topic_id: bytes = uuid(versions=since(13))
    partition_responses: list[PartitionProduceResponse] = array()


class ProduceResponse(Response, api_key=ApiKey.PRODUCE, versions=(0, 13), flexible=9):
    """What became of each batch."""

    responses: list[TopicProduceResponse] = array()
    throttle_time_ms: int = int32(versions=since(1))
    node_endpoints: list[NodeEndpoint] = array(versions=since(10), tag=0)

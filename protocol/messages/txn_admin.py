"""What administrators ask of transactions: describe, list, end what hangs."""

from odradek.protocol.api_keys import ApiKey
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
    since,
    string,
)


class DescribeTransactionsRequest(
    Request, api_key=ApiKey.DESCRIBE_TRANSACTIONS, versions=(0, 0), flexible=0
):
    """What are these transactional ids doing (KIP-664)?"""

    transactional_ids: list[str] = array()


class DescribedTransactionTopic(Struct):
    """The partitions of one topic that take part."""

    topic: str = string()
    partitions: list[int] = array(of=int32)


class DescribedTransaction(Struct):
    """A transactional id, its producer, and the transaction that it is in."""

    error_code: int = int16()
    transactional_id: str = string()
    transaction_state: str = string()
    transaction_timeout_ms: int = int32()
    transaction_start_time_ms: int = int64()
    producer_id: int = int64()
    producer_epoch: int = int16()
    topics: list[DescribedTransactionTopic] = array()


class DescribeTransactionsResponse(
    Response, api_key=ApiKey.DESCRIBE_TRANSACTIONS, versions=(0, 0), flexible=0
):
    """One answer for each transactional id."""

    throttle_time_ms: int = int32()
    transaction_states: list[DescribedTransaction] = array()


class ListTransactionsRequest(
    Request, api_key=ApiKey.LIST_TRANSACTIONS, versions=(0, 2), flexible=0
):
    """Which transactional ids are there? What is empty or negative lets all pass.

    Version 1 asks for those that run for long (KIP-994), version 2 for those whose
    name matches a regular expression (KIP-1152).
    """

    state_filters: list[str] = array()
    producer_id_filters: list[int] = array(of=int64)
    duration_filter: int = int64(versions=since(1), default=-1)
    transactional_id_pattern: str | None = string(
        versions=since(2), nullable=True, default=None
    )


class ListedTransaction(Struct):
    """A transactional id."""

    transactional_id: str = string()
    producer_id: int = int64()
    transaction_state: str = string()


class ListTransactionsResponse(
    Response, api_key=ApiKey.LIST_TRANSACTIONS, versions=(0, 2), flexible=0
):
    """What this broker coordinates, and the asked for states that are none."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    unknown_state_filters: list[str] = array()
    transaction_states: list[ListedTransaction] = array()


class DescribeProducersTopic(Struct):
    """The partitions of one topic."""

    name: str = string()
    partition_indexes: list[int] = array(of=int32)


class DescribeProducersRequest(
    Request, api_key=ApiKey.DESCRIBE_PRODUCERS, versions=(0, 0), flexible=0
):
    """Who writes to these partitions with a producer id (KIP-664)?"""

    topics: list[DescribeProducersTopic] = array()


class ProducerState(Struct):
    """A producer as the log of a partition knows it; -1 for what there is not."""

    producer_id: int = int64()
    producer_epoch: int = int32()
    last_sequence: int = int32(default=-1)
    last_timestamp: int = int64(default=-1)
    coordinator_epoch: int = int32()
    current_txn_start_offset: int = int64(default=-1)


class DescribedProducersPartition(Struct):
    """The producers of one partition."""

    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)
    active_producers: list[ProducerState] = array()


class DescribedProducersTopic(Struct):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[DescribedProducersPartition] = array()


class DescribeProducersResponse(
    Response, api_key=ApiKey.DESCRIBE_PRODUCERS, versions=(0, 0), flexible=0
):
    """One answer for each partition."""

    throttle_time_ms: int = int32()
    topics: list[DescribedProducersTopic] = array()


class WritableTxnMarkerTopic(Struct):
    """The partitions of one topic."""

    name: str = string()
    partition_indexes: list[int] = array(of=int32)


class WritableTxnMarker(Struct):
    """The end of one transaction, in some of its partitions."""

    producer_id: int = int64()
    producer_epoch: int = int16()
    transaction_result: bool = boolean()
    topics: list[WritableTxnMarkerTopic] = array()
    coordinator_epoch: int = int32()
    transaction_version: int = int8(versions=since(2))


class WriteTxnMarkersRequest(
    Request, api_key=ApiKey.WRITE_TXN_MARKERS, versions=(1, 2), flexible=1
):
    """End transactions in the logs, as their coordinator decided.

    Version 2 says which version of the protocol the producer speaks (KIP-1228).
    """

    markers: list[WritableTxnMarker] = array()


class WritableTxnMarkerPartitionResult(Struct):
    """What became of the marker of one partition."""

    partition_index: int = int32()
    error_code: int = int16()


class WritableTxnMarkerTopicResult(Struct):
    """What became of the markers of one topic."""

    name: str = string()
    partitions: list[WritableTxnMarkerPartitionResult] = array()


class WritableTxnMarkerResult(Struct):
    """What became of the markers of one producer."""

    producer_id: int = int64()
    topics: list[WritableTxnMarkerTopicResult] = array()


class WriteTxnMarkersResponse(
    Response, api_key=ApiKey.WRITE_TXN_MARKERS, versions=(1, 2), flexible=1
):
    """One answer for each producer, topic and partition."""

    markers: list[WritableTxnMarkerResult] = array()

"""What producers ask of the coordinator of their transactions.

InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn.
"""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
    since,
    string,
    until,
)


class InitProducerIdRequest(
    Request, api_key=ApiKey.INIT_PRODUCER_ID, versions=(0, 6), flexible=2
):
    """Give a new id, or the next epoch of the one the producer has (KIP-360).

    Without a transactional id the producer is only idempotent. Version 6 is the
    two-phase commit of KIP-939.
    """

    transactional_id: str | None = string(nullable=True, default="")
    transaction_timeout_ms: int = int32()
    producer_id: int = int64(versions=since(3), default=-1)
    producer_epoch: int = int16(versions=since(3), default=-1)
    enable2_pc: bool = boolean(versions=since(6))
    keep_prepared_txn: bool = boolean(versions=since(6))


class InitProducerIdResponse(
    Response, api_key=ApiKey.INIT_PRODUCER_ID, versions=(0, 6), flexible=2
):
    """The id and the epoch to write with."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id: int = int64(default=-1)
    producer_epoch: int = int16()
    ongoing_txn_producer_id: int = int64(versions=since(6), default=-1)
    ongoing_txn_producer_epoch: int = int16(versions=since(6), default=-1)


class AddPartitionsToTxnTopic(Struct):
    """The partitions of one topic in which a producer is about to write."""

    name: str = string()
    partitions: list[int] = array(of=int32)


class AddPartitionsToTxnTransaction(Struct):
    """The partitions of one transaction, from version 4 on.

    ``verify_only`` asks whether they take part, and adds nothing.
    """

    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    verify_only: bool = boolean()
    topics: list[AddPartitionsToTxnTopic] = array()


class AddPartitionsToTxnRequest(
    Request, api_key=ApiKey.ADD_PARTITIONS_TO_TXN, versions=(0, 5), flexible=3
):
    """Let partitions take part in a transaction.

    Clients send up to version 3; from version 4 on brokers ask each other for many
    transactions at once (KIP-890).
    """

    transactions: list[AddPartitionsToTxnTransaction] = array(versions=since(4))
    v3_and_below_transactional_id: str = string(versions=until(3))
    v3_and_below_producer_id: int = int64(versions=until(3))
    v3_and_below_producer_epoch: int = int16(versions=until(3))
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = array(versions=until(3))


class AddPartitionsToTxnPartitionResult(Struct):
    """Whether one partition takes part."""

    partition_index: int = int32()
    partition_error_code: int = int16()


class AddPartitionsToTxnTopicResult(Struct):
    """What became of the partitions of one topic."""

    name: str = string()
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = array()


class AddPartitionsToTxnResult(Struct):
    """What became of the partitions of one transaction."""

    transactional_id: str = string()
    topic_results: list[AddPartitionsToTxnTopicResult] = array()


class AddPartitionsToTxnResponse(
    Response, api_key=ApiKey.ADD_PARTITIONS_TO_TXN, versions=(0, 5), flexible=3
):
    """What became of each partition."""

    throttle_time_ms: int = int32()
    error_code: int = int16(versions=since(4))
    results_by_transaction: list[AddPartitionsToTxnResult] = array(versions=since(4))
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = array(
        versions=until(3)
    )


class AddOffsetsToTxnRequest(
    Request, api_key=ApiKey.ADD_OFFSETS_TO_TXN, versions=(0, 4), flexible=3
):
    """Let the offsets of a group take part in a transaction."""

    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    group_id: str = string()


class AddOffsetsToTxnResponse(
    Response, api_key=ApiKey.ADD_OFFSETS_TO_TXN, versions=(0, 4), flexible=3
):
    """Whether they take part."""

    throttle_time_ms: int = int32()
    error_code: int = int16()


class EndTxnRequest(Request, api_key=ApiKey.END_TXN, versions=(0, 5), flexible=3):
    """Commit or abort. From version 5 on every end bumps the epoch (KIP-890)."""

    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    committed: bool = boolean()


class EndTxnResponse(Response, api_key=ApiKey.END_TXN, versions=(0, 5), flexible=3):
    """Whether it will be so, and from version 5 on who may write after it."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id: int = int64(versions=since(5), default=-1)
    producer_epoch: int = int16(versions=since(5), default=-1)

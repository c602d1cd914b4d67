"""InitProducerId: the identity of an idempotent or transactional producer."""

from ..api_keys import ApiKey
from ..schema import Request, Response, boolean, int16, int32, int64, since, string


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

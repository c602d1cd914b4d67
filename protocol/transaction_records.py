"""The records of ``__transaction_state``: what a transaction coordinator remembers.

A key begins with the int16 0, the only type of record there is; a value with the
int16 of its version. A value of null is a tombstone: the transactional id is gone.
"""

from .schema import Message, Struct, array, int8, int16, int32, int64, since, string


class TransactionLogKey(Message, versions=(0, 0)):
    """A transactional id."""

    transactional_id: str = string()


class TransactionPartitions(Struct):
    """Partitions of one topic that take part."""

    topic: str = string()
    partition_ids: list[int] = array(of=int32)


class TransactionLogValue(Message, versions=(0, 1), flexible=1):
    """The producer behind a transactional id, and its transaction (KIP-890)."""

    producer_id: int = int64()
    previous_producer_id: int = int64(versions=since(1), default=-1, tag=0)
    next_producer_id: int = int64(versions=since(1), default=-1, tag=1)
    producer_epoch: int = int16()
    next_producer_epoch: int = int16(versions=since(1), default=-1, tag=3)
    transaction_timeout_ms: int = int32()
    transaction_status: int = int8()
    transaction_partitions: list[TransactionPartitions] | None = array(nullable=True)
    transaction_last_update_timestamp_ms: int = int64()
    transaction_start_timestamp_ms: int = int64()
    client_transaction_version: int = int16(versions=since(1), tag=2)


TRANSACTION_RECORDS: dict[int, tuple[type[Message], type[Message]]] = {
    0: (TransactionLogKey, TransactionLogValue),
}

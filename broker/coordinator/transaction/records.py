"""What the transaction coordinator writes into ``__transaction_state``.

One kind of record, in Kafka's format: a transactional id with everything that is
known of it. The layout is that of `protocol.transaction_records`.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct, error
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import InvalidRecord, MalformedRequest
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.transaction_records import (
    TransactionLogKey,
    TransactionLogValue,
    TransactionPartitions,
)

from .states import TransactionState
from .transaction import Transaction

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.storage.files.files import Buffer

TRANSACTION_KEY = 0

# As Apache Kafka 4.3 writes it, from transaction.version 1 on.
_VALUE_VERSION = 1

_INT16 = Struct(">h")
# A value: its version, who the producer is, its timeout and the state; the partitions;
# two times; and fields with tags.
_HEAD = Struct(">hqhib")
_ABSENT = b"\0"  # no list of partitions
_TIMES = Struct(">qq")
# A producer writes three records with each of its transactions.
_KEYS_KEPT = 4096
_PARTITIONS_KEPT = 8  # of a transaction, at most
_new = tuple.__new__


class TransactionRecord(NamedTuple):
    """A transactional id as it is now; ``transaction`` None: it is forgotten."""

    transactional_id: str
    transaction: Transaction | None

    @classmethod
    def of(cls, transaction: Transaction) -> TransactionRecord:
        """The record that makes this the state of its transactional id."""
        return _new(cls, (transaction[0], transaction))

    def encode(self) -> tuple[bytes, bytes | None]:
        """Key and value as they lie in the log."""
        key = _key(self.transactional_id)
        if self.transaction is None:
            return key, None
        return key, _encoded(self.transaction)


def decode(key: Buffer, value: Buffer | None) -> TransactionRecord | None:
    """The record; None for one of another kind.

    Raises:
        InvalidRecord: it is cut short, or says what is not known.
    """
    try:
        kind, rest = _version(key)
        if kind != TRANSACTION_KEY:
            return None
        transactional_id = TransactionLogKey.decode(rest, 0).transactional_id
        if value is None:
            return TransactionRecord(transactional_id, None)
        version, rest = _version(value)
        if not 0 <= version <= TransactionLogValue.max_version:
            raise InvalidRecord(f"version {version} of a transaction is not known")
        found = TransactionLogValue.decode(rest, version)
        return TransactionRecord(
            transactional_id, _transaction(transactional_id, found)
        )
    except (MalformedRequest, ValueError, error) as cause:
        raise InvalidRecord(f"a record of a coordinator: {cause}") from cause


@lru_cache(_KEYS_KEPT)
def _key(transactional_id: str) -> bytes:
    key = TransactionLogKey(transactional_id=transactional_id)
    return _INT16.pack(TRANSACTION_KEY) + key.encode(0)


def _encoded(transaction: Transaction) -> bytes:
    """The value, of parts: most of what is said again and again was encoded before."""
    _, producer_id, epoch, timeout_ms, last_update_ms, state, partitions = transaction[
        :7
    ]
    if state is TransactionState.EMPTY:
        middle = _ABSENT
    elif len(partitions) <= _PARTITIONS_KEPT:
        middle = _partitions(partitions)
    else:
        middle = _partitions.__wrapped__(partitions)
    start_ms, *ids, client_version = transaction[7:12]
    return b"".join(
        (
            _HEAD.pack(_VALUE_VERSION, producer_id, epoch, timeout_ms, state),
            middle,
            _TIMES.pack(last_update_ms, start_ms),
            _tags(client_version, *ids),
        )
    )


@lru_cache(_KEYS_KEPT)
def _partitions(partitions: tuple[TopicPartition, ...]) -> bytes:
    said = TransactionLogValue(transaction_partitions=_by_topic(partitions))
    return said.encode(_VALUE_VERSION)[_HEAD.size - _INT16.size : -_TIMES.size - 1]


@lru_cache(_KEYS_KEPT)
def _tags(
    client_version: int, previous_id: int, next_id: int, next_epoch: int
) -> bytes:
    """The fields that are there only when they are not what they usually are."""
    said = TransactionLogValue(
        previous_producer_id=previous_id,
        next_producer_id=next_id,
        next_producer_epoch=next_epoch,
        transaction_partitions=None,
        client_transaction_version=client_version,
    )
    before = _HEAD.size - _INT16.size + len(_ABSENT) + _TIMES.size
    return said.encode(_VALUE_VERSION)[before:]


def _by_topic(partitions: Iterable[TopicPartition]) -> list[TransactionPartitions]:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return [
        TransactionPartitions(topic=topic, partition_ids=partition_ids)
        for topic, partition_ids in topics.items()
    ]


def _transaction(transactional_id: str, found: TransactionLogValue) -> Transaction:
    return Transaction(
        transactional_id,
        found.producer_id,
        found.producer_epoch,
        found.transaction_timeout_ms,
        found.transaction_last_update_timestamp_ms,
        TransactionState(found.transaction_status),
        tuple(
            TopicPartition(each.topic, partition)
            for each in found.transaction_partitions or ()
            for partition in each.partition_ids
        ),
        found.transaction_start_timestamp_ms,
        found.previous_producer_id,
        found.next_producer_id,
        found.next_producer_epoch,
        found.client_transaction_version,
    )


def _version(data: Buffer) -> tuple[int, memoryview]:
    view = memoryview(data)
    return _INT16.unpack_from(view)[0], view[2:]

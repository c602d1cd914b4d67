"""AddPartitionsToTxn and AddOffsetsToTxn: which partitions take part.

A partition is added before anything of the transaction is written into it, so that
the coordinator knows where markers have to go. Brokers verify that it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.coordinator.decision import Decision
from odradek.protocol.errors import (
    ConcurrentTransactions,
    ErrorCode,
    InvalidProducerIdMapping,
    ProducerFenced,
)

from .records import TransactionRecord
from .states import TransactionState

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.coordinator.decision import ProducerIdentity
    from odradek.protocol.topic_partition import TopicPartition

    from .shard import TransactionShard
    from .transaction import Transaction


IMPLICIT_ADD = 2


class Addition(NamedTuple):
    """Partitions in which a producer writes, or is about to.

    ``client_version`` is 2 where the second protocol adds them by itself.
    """

    transactional_id: str
    producer: ProducerIdentity
    partitions: tuple[TopicPartition, ...]
    client_version: int = 0

    @property
    def adds(self) -> bool:
        """Whether records that are written add their partition."""
        return self.client_version >= IMPLICIT_ADD


def decide_add_partitions(
    shard: TransactionShard, addition: Addition, response: Any
) -> Decision:
    """Let the partitions take part; answer ``response`` when that is durable.

    Raises:
        ConcurrentTransactions: a transaction is being ended; try again.
        InvalidProducerIdMapping: the transactional id is not that producer's.
        ProducerFenced: another epoch is the present one.
    """
    transaction = _checked(shard, addition)
    is_ongoing = transaction.state is TransactionState.ONGOING
    if is_ongoing and transaction.has_all(addition.partitions):
        return Decision(response, reads_state=True)
    begun = transaction.begun_with(
        addition.partitions, addition.client_version, shard.clock.now_ms()
    )
    return Decision(response, [TransactionRecord.of(begun)])


def decide_verify(
    shard: TransactionShard,
    addition: Addition,
    answer: Callable[[dict[TopicPartition, int]], Any],
) -> Decision:
    """Tell for each partition whether it takes part; nothing is added.

    0, or TRANSACTION_ABORTABLE. The answer waits until the records that it rests on
    are durable.

    Raises:
        ConcurrentTransactions, InvalidProducerIdMapping, ProducerFenced: as above.
    """
    partitions = _checked(shard, addition).partitions
    codes = {
        each: ErrorCode.NONE if each in partitions else ErrorCode.TRANSACTION_ABORTABLE
        for each in addition.partitions
    }
    return Decision(answer(dict(codes)), reads_state=True)


def _checked(shard: TransactionShard, addition: Addition) -> Transaction:
    transaction = shard.found(addition.transactional_id)
    # First: what is being ended may have a new producer id when it is complete, of
    # which the producer knows already.
    if transaction.state.is_prepared:
        raise ConcurrentTransactions
    if addition.producer.producer_id != transaction.producer_id:
        raise InvalidProducerIdMapping
    if addition.producer.producer_epoch != transaction.producer_epoch:
        raise ProducerFenced
    return transaction

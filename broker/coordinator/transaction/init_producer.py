"""InitProducerId with a transactional id: who may write under it from now on.

Each producer gets an epoch of its own, and the ones before it are shut out. What the
last one has left open is aborted first: that takes an epoch too, which nobody is
given, and the new producer is told to ask again until it is done. A producer that
recovers by itself (KIP-360) says who it is, and is refused if it is not the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.coordinator.decision import Decision, ProducerIdentity
from odradek.protocol.errors import (
    ConcurrentTransactions,
    InvalidTransactionTimeout,
    ProducerFenced,
)

from .end import carried_out, fence
from .records import TransactionRecord
from .states import TransactionState
from .transaction import LAST_EPOCH, NO_EPOCH, EndedBy, Transaction

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.protocol.errors import KafkaError

    from .shard import TransactionShard

    Answer = Callable[[ProducerIdentity], Any]
    Refuse = Callable[[KafkaError], Any]


class Initialisation(NamedTuple):
    """An InitProducerId; ``expected`` is who the producer says it is."""

    transactional_id: str
    timeout_ms: int
    expected: ProducerIdentity | None = None


def decide_init_producer(
    shard: TransactionShard, wanted: Initialisation, answer: Answer, refuse: Refuse
) -> Decision:
    """Give the transactional id to a producer; ``answer`` is given who it is.

    ``refuse`` answers when an open transaction has to be aborted first.

    Raises:
        InvalidTransactionTimeout: none at all, or too long a one.
        ConcurrentTransactions: a transaction is being ended; try again.
        ProducerFenced: it expected to be somebody else than it is.
        CoordinatorLoadInProgress: no producer id is at hand; try again.
    """
    if not 0 < wanted.timeout_ms <= shard.config.transaction_max_timeout_ms:
        raise InvalidTransactionTimeout
    transaction = shard.get(wanted.transactional_id)
    if transaction is None:
        return _answered(_first(shard, wanted), answer)
    if transaction.state.is_prepared:
        raise ConcurrentTransactions
    if transaction.state is TransactionState.ONGOING:
        return _abort_first(shard, transaction, wanted, refuse)
    producer, last_epoch = _successor(shard, transaction, wanted.expected)
    given = transaction.given_to(
        producer, last_epoch, wanted.timeout_ms, shard.clock.now_ms()
    )
    return _answered(given, answer)


def _answered(transaction: Transaction, answer: Answer) -> Decision:
    record = TransactionRecord.of(transaction)
    return Decision(answer(transaction.producer), [record])


def _first(shard: TransactionShard, wanted: Initialisation) -> Transaction:
    """A transactional id that nobody has used before."""
    producer_id = shard.producer_ids.take()
    return Transaction(
        wanted.transactional_id,
        producer_id,
        0,
        wanted.timeout_ms,
        shard.clock.now_ms(),
        previous_producer_id=producer_id,
    )


def _abort_first(
    shard: TransactionShard,
    transaction: Transaction,
    wanted: Initialisation,
    refuse: Refuse,
) -> Decision:
    # A late request of an earlier epoch must not end the transaction of a later one.
    if wanted.expected not in (None, transaction.producer):
        raise ProducerFenced
    is_itself = wanted.expected is not None
    ended_by = EndedBy.PRODUCER if is_itself else EndedBy.ANOTHER_PRODUCER
    prepared = fence(shard, transaction, ended_by)
    return carried_out(shard, prepared, refuse(ConcurrentTransactions()))


def _successor(
    shard: TransactionShard,
    transaction: Transaction,
    expected: ProducerIdentity | None,
) -> tuple[ProducerIdentity, int]:
    """Who is next; and the epoch with which it may ask again, if its answer is lost."""
    current_epoch = transaction.producer_epoch
    if expected is not None and _is_lost_answer(transaction, expected):
        return transaction.producer, transaction.last_producer_epoch
    if expected not in (None, transaction.producer):
        raise ProducerFenced
    last_epoch = NO_EPOCH if expected is None else current_epoch
    if transaction.is_exhausted:
        return ProducerIdentity(shard.producer_ids.take(), 0), last_epoch
    producer = ProducerIdentity(transaction.producer_id, current_epoch + 1)
    return producer, last_epoch


def _is_lost_answer(transaction: Transaction, expected: ProducerIdentity) -> bool:
    """Whether it was given the present epoch, and has not heard of it."""
    if expected.producer_epoch != transaction.last_producer_epoch:
        return False
    if expected.producer_id == transaction.producer_id:
        return not transaction.is_exhausted
    return (
        expected.producer_id == transaction.previous_producer_id
        and expected.producer_epoch >= LAST_EPOCH
    )

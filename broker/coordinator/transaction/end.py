"""EndTxn: how a transaction is decided, and how that is carried out.

A transaction is *prepared* by a record that says how it ends; from when that is
durable on, it ends so, whatever happens: the producer is answered, and markers are
written into every partition. When all of them are durable it is *complete*, by
another record. A coordinator that stops in between goes on after loading.

In the second protocol (KIP-890) every end bumps the epoch, so that nothing late can
touch the next transaction; the producer learns the new epoch from the answer.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.coordinator.decision import Decision
from odradek.protocol.errors import (
    ConcurrentTransactions,
    InvalidProducerIdMapping,
    InvalidTxnState,
    ProducerFenced,
)

from .records import TransactionRecord
from .shard import Markers
from .states import TransactionState
from .transaction import BUMPS_EPOCH, NO_EPOCH, EndedBy

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.coordinator.decision import ProducerIdentity
    from odradek.protocol.errors import KafkaError

    from .shard import TransactionShard
    from .transaction import Transaction

    Answer = Callable[[ProducerIdentity], Any]

# A record of completion that was refused is written again after this long.
COMPLETE_RETRY_MS = 1_000

_logger = logging.getLogger(__name__)


class Ending(NamedTuple):
    """An EndTxn. ``bumps_epoch``: of the second protocol (version 5 and later)."""

    transactional_id: str
    producer: ProducerIdentity
    is_commit: bool
    bumps_epoch: bool = False


# Decide


def decide_end(shard: TransactionShard, ending: Ending, answer: Answer) -> Decision:
    """Commit or abort; ``answer`` is given who may write after that.

    Raises:
        InvalidProducerIdMapping: the transactional id is not that producer's.
        ProducerFenced: another epoch is the present one.
        ConcurrentTransactions: a transaction is being ended; try again.
        InvalidTxnState: there is none to end, or it has ended the other way.
    """
    transaction = shard.found(ending.transactional_id)
    has_ended = _has_ended_bumped if ending.bumps_epoch else _has_ended
    if has_ended(transaction, ending):
        return Decision(answer(transaction.producer), reads_state=True)
    client_version = BUMPS_EPOCH if ending.bumps_epoch else 0
    prepared = prepare(shard, transaction, ending.is_commit, client_version)
    return carried_out(shard, prepared, answer(prepared.successor))


def _has_ended(transaction: Transaction, ending: Ending) -> bool:
    """Whether it has ended that way already; False: it is to be ended. Or raises."""
    state = transaction.state
    if ending.producer.producer_id != transaction.producer_id:
        raise InvalidProducerIdMapping
    if ending.producer.producer_epoch != transaction.producer_epoch:
        raise ProducerFenced
    if state is TransactionState.ONGOING:
        return False
    if state is TransactionState.EMPTY or state.is_commit != ending.is_commit:
        raise InvalidTxnState
    if state.is_prepared:
        raise ConcurrentTransactions
    return True


def _has_ended_bumped(transaction: Transaction, ending: Ending) -> bool:
    """The same, where the epoch tells one transaction from the next."""
    state, producer = transaction.state, ending.producer
    # The epoch, and perhaps the id, change when it is complete; until then nobody can
    # be told more. The producer may have begun its next transaction already.
    if state.is_prepared:
        raise ConcurrentTransactions
    is_again = transaction.has_rotated_from(producer)
    if producer.producer_id != transaction.producer_id and not is_again:
        raise InvalidProducerIdMapping
    is_again = is_again or _is_behind_an_end(transaction, producer)
    if is_again and state.is_complete:
        _check_ended_as(transaction, ending)
        return True
    if is_again or producer.producer_epoch != transaction.producer_epoch:
        raise ProducerFenced
    # Without a transaction there is nothing to commit. A producer may abort, though,
    # where it does not know whether its first batch has begun one.
    if state is not TransactionState.ONGOING and ending.is_commit:
        raise InvalidTxnState
    return False


def _is_behind_an_end(transaction: Transaction, producer: ProducerIdentity) -> bool:
    return (
        transaction.client_version >= BUMPS_EPOCH
        and producer.producer_epoch + 1 == transaction.producer_epoch
    )


def _check_ended_as(transaction: Transaction, ending: Ending) -> None:
    """See that a transaction that has ended did so as it is asked for once more."""
    if transaction.state.is_commit == ending.is_commit:
        # Who was shut out by another producer does not get that one's epoch. After a
        # timeout a producer may go on, once it aborts what is aborted.
        if transaction.ended_by is EndedBy.ANOTHER_PRODUCER:
            raise ProducerFenced
        return
    # A commit that comes behind a timeout is that of a fenced producer, which has done
    # nothing wrong (KAFKA-20785). Of a loaded transaction nobody knows who ended it.
    if ending.is_commit and transaction.ended_by is not EndedBy.PRODUCER:
        raise ProducerFenced
    raise InvalidTxnState


def prepare(
    shard: TransactionShard,
    transaction: Transaction,
    is_commit: bool,
    client_version: int,
) -> Transaction:
    """The transaction, decided by its producer.

    Raises:
        CoordinatorLoadInProgress: it needs a new producer id, and none is at hand.
    """
    changes: dict[str, Any] = {}
    if client_version >= BUMPS_EPOCH:
        changes = _bumped(shard, transaction)
    return transaction.prepared(
        is_commit,
        shard.clock.now_ms(),
        EndedBy.PRODUCER,
        client_version=client_version,
        **changes,
    )


def fence(
    shard: TransactionShard, transaction: Transaction, ended_by: EndedBy
) -> Transaction:
    """The transaction, to be aborted; its markers shut the present epoch out.

    Raises:
        CoordinatorLoadInProgress: it needs a new producer id, and none is at hand.
    """
    bumps_epoch = transaction.client_version >= BUMPS_EPOCH
    if bumps_epoch:
        changes = _bumped(shard, transaction)
    else:
        changes = {"producer_epoch": transaction.next_epoch}
    # Who begins anew itself may ask again; so may a producer of the second protocol
    # whose time was up. Others are shut out for good.
    may_ask_again = ended_by is EndedBy.PRODUCER or (
        bumps_epoch and ended_by is EndedBy.TIMEOUT
    )
    changes["last_producer_epoch"] = (
        transaction.producer_epoch if may_ask_again else NO_EPOCH
    )
    return transaction.prepared(False, shard.clock.now_ms(), ended_by, **changes)


def _bumped(shard: TransactionShard, transaction: Transaction) -> dict[str, Any]:
    changes = {
        "producer_epoch": transaction.next_epoch,
        "last_producer_epoch": transaction.producer_epoch,
    }
    if transaction.is_exhausted:
        changes["next_producer_id"] = shard.producer_ids.take()
    return changes


# Carry out


def carried_out(
    shard: TransactionShard, prepared: Transaction, response: Any = None
) -> Decision:
    """Write that it is prepared; when that is durable, answer and write the markers."""
    return Decision(
        response,
        [TransactionRecord.of(prepared)],
        then=partial(write_markers, shard, prepared),
    )


def write_markers(shard: TransactionShard, prepared: Transaction) -> None:
    """Write the markers of a prepared transaction; then it is complete."""
    if shard.is_over:
        return  # who has loaded it since writes them, and may have done so long ago
    if not prepared.partitions:
        complete(shard, prepared)
        return
    markers = Markers(
        shard.topic_partition,
        prepared.transactional_id,
        prepared.producer_id,
        prepared.producer_epoch,
        prepared.state.is_commit,
        prepared.partitions,
        prepared.client_version,
    )
    shard.marker_writer.write(markers, partial(complete, shard, prepared))


def complete(shard: TransactionShard, prepared: Transaction) -> None:
    """Every marker is durable: write that down."""

    def try_again(error: KafkaError) -> None:
        # A shard that has failed starts no timers: who loads it goes on with this.
        _logger.warning(
            "transaction %s is not stored as complete: %s",
            prepared.transactional_id,
            error,
        )
        shard.timers.start(
            ("complete", prepared.transactional_id),
            COMPLETE_RETRY_MS,
            partial(complete, shard, prepared),
        )

    shard.act(lambda state: decide_complete(state, prepared), try_again)


def decide_complete(shard: TransactionShard, prepared: Transaction) -> Decision:
    """The transaction is over, and the next one may begin."""
    if shard.get(prepared.transactional_id) is not prepared:
        return Decision()  # told twice
    completed = prepared.completed(shard.clock.now_ms())
    return Decision(records=[TransactionRecord.of(completed)])


def resume(shard: TransactionShard) -> None:
    """After loading: write the markers of every prepared transaction, again.

    But not before what was loaded is replicated: a coordinator that comes after us
    might not know that it was prepared, and end it the other way.
    """
    for transaction in list(shard.transactions.values()):
        if transaction.state.is_prepared:
            write = Decision(
                reads_state=True, then=partial(write_markers, shard, transaction)
            )
            shard.act(lambda _, write=write: write, _leave)  # type: ignore[misc]


def _leave(error: KafkaError) -> None:
    """Whoever loads it next goes on with it."""

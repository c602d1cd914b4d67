"""What administrators ask: describe and list transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.coordinator.decision import Decision
from odradek.protocol.errors import TransactionalIdNotFound

from .states import BY_LABEL, TransactionState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .shard import TransactionShard
    from .transaction import Transaction

NO_DURATION = -1


class TransactionFilter(NamedTuple):
    """Which transactional ids are listed; an empty part lets everything pass.

    ``is_wanted`` tells by the transactional id; ``duration_ms`` lets those pass whose
    last transaction began longer ago. As in Apache Kafka, ids that never began one
    pass as well.
    """

    states: frozenset[TransactionState] = frozenset()
    producer_ids: frozenset[int] = frozenset()
    duration_ms: int = NO_DURATION
    is_wanted: Callable[[str], object] | None = None

    def lets_pass(self, transaction: Transaction, now_ms: int) -> bool:
        """Whether it is listed."""
        if self.states and transaction.state not in self.states:
            return False
        if self.producer_ids and transaction.producer_id not in self.producer_ids:
            return False
        if self.is_wanted and not self.is_wanted(transaction.transactional_id):
            return False
        age_ms = now_ms - transaction.start_ms
        return self.duration_ms < 0 or age_ms > self.duration_ms


def named_states(
    names: Sequence[str],
) -> tuple[frozenset[TransactionState], list[str]]:
    """The states with these names, and the names that are none."""
    states = frozenset(BY_LABEL[name] for name in names if name in BY_LABEL)
    return states, [name for name in names if name not in BY_LABEL]


def decide_describe(
    shard: TransactionShard,
    transactional_id: str,
    answer: Callable[[Transaction], Any],
) -> Decision:
    """Tell everything about a transactional id.

    Raises:
        TransactionalIdNotFound: it is not known.
    """
    transaction = shard.get(transactional_id)
    if transaction is None:
        raise TransactionalIdNotFound
    return Decision(answer(transaction), reads_state=True)


def decide_list(shard: TransactionShard, wanted: TransactionFilter) -> Decision:
    """List the transactions of the shard that pass."""
    now_ms = shard.clock.now_ms()
    transactions = [
        each for each in shard.transactions.values() if wanted.lets_pass(each, now_ms)
    ]
    return Decision(transactions, reads_state=True)

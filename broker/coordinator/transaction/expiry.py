"""Transactions that take too long, and transactional ids that nobody uses.

Both are looked for from time to time, by the wall clock: the times are in the log.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision

from .end import carried_out, fence
from .records import TransactionRecord
from .states import TransactionState
from .transaction import EndedBy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.protocol.errors import KafkaError

    from .shard import TransactionShard
    from .transaction import Transaction

_logger = logging.getLogger(__name__)


def decide_timeouts(shard: TransactionShard) -> Decision:
    """Abort the transactions whose time is up; their producers are fenced."""
    now_ms = shard.clock.now_ms()
    too_long = [
        each for each in shard.transactions.values() if _has_timed_out(each, now_ms)
    ]
    # Each is a decision of its own. In one, a log that takes some records and refuses
    # others would leave transactions prepared of which nobody writes the markers.
    return Decision(then=partial(_abort_all, shard, too_long) if too_long else None)


def decide_timeout(shard: TransactionShard, too_long: Transaction) -> Decision:
    """Abort one, unless something has happened to it meanwhile.

    Raises:
        CoordinatorLoadInProgress: it needs a new producer id, and none is at hand.
    """
    if shard.get(too_long.transactional_id) is not too_long:
        return Decision()
    return carried_out(shard, fence(shard, too_long, EndedBy.TIMEOUT))


def decide_expiry(shard: TransactionShard) -> Decision:
    """Forget the transactional ids that were not used for long."""
    used_ms = shard.clock.now_ms() - shard.config.transactional_id_expiration_ms
    return Decision(
        records=[
            TransactionRecord(each.transactional_id, None)
            for each in shard.transactions.values()
            if _is_at_rest(each) and each.last_update_ms <= used_ms
        ]
    )


def _has_timed_out(transaction: Transaction, now_ms: int) -> bool:
    return (
        transaction.state is TransactionState.ONGOING
        and transaction.start_ms + transaction.timeout_ms < now_ms
    )


def _is_at_rest(transaction: Transaction) -> bool:
    state = transaction.state
    return state is TransactionState.EMPTY or state.is_complete


def _abort_all(shard: TransactionShard, too_long: Sequence[Transaction]) -> None:
    for each in too_long:
        _logger.info(
            "transaction %s of producer %d has taken more than %d ms: it is aborted",
            each.transactional_id,
            each.producer_id,
            each.timeout_ms,
        )
        shard.act(
            partial(decide_timeout, too_long=each),
            partial(_warn, each),
        )


def _warn(transaction: Transaction, error: KafkaError) -> None:
    _logger.warning(
        "transaction %s is not aborted yet: %s", transaction.transactional_id, error
    )

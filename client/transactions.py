"""Transactions for administrators: list, describe, abort."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import (
    ConcurrentTransactions,
    InvalidRequest,
    UnsupportedVersion,
)
from odradek.protocol.messages.transactions import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from odradek.protocol.messages.txn_admin import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from odradek.protocol.topic_partition import TopicPartition

from .cluster import TRANSACTION, may_pass
from .errors import raise_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .cluster import Cluster
    from .metadata import Broker

ONGOING = "Ongoing"
# The states of a transaction that is not over.
RUNNING = (ONGOING, "PrepareCommit", "PrepareAbort")
NO_DURATION = -1
_NO_TIME = -1
# Nobody will write in its time, and every broker allows it. The next producer of that
# name brings its own.
_TIMEOUT_MS = 1
_FIRST_VERSION_WITH_DURATIONS = 1
_FIRST_VERSION_WITH_PATTERNS = 2


class TransactionFilter(NamedTuple):
    """Which transactional ids are listed; an empty part lets everything pass.

    ``pattern`` is a regular expression for the whole of the name.
    """

    states: Sequence[str] = ()
    producer_ids: Sequence[int] = ()
    longer_than_ms: int = NO_DURATION
    pattern: str = ""


class TransactionListing(NamedTuple):
    """A transactional id in a list."""

    transactional_id: str
    producer_id: int
    state: str
    coordinator: Broker


class TransactionDescription(NamedTuple):
    """A transactional id; ``start_ms`` is None when no transaction was begun."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_ms: int | None
    partitions: Sequence[TopicPartition]
    coordinator: Broker


def list_transactions(
    cluster: Cluster, wanted: TransactionFilter | None = None
) -> list[TransactionListing]:
    """The transactional ids of all brokers that pass, by name.

    Raises:
        UnsupportedVersion: a broker is too old for a filter.
        InvalidRegularExpression: the pattern is none.
        InvalidRequest: a broker knows no such state.
    """
    wanted = wanted or TransactionFilter()
    request = ListTransactionsRequest(
        state_filters=list(wanted.states),
        producer_id_filters=list(wanted.producer_ids),
        duration_filter=wanted.longer_than_ms,
        transactional_id_pattern=wanted.pattern or None,
    )
    found: dict[str, TransactionListing] = {}
    for broker in cluster.metadata(()).brokers.values():
        ask = partial(_list_of_broker, cluster, request, broker.node_id)
        for each in cluster.retry.run(ask, may_pass).transaction_states:
            found[each.transactional_id] = TransactionListing(
                each.transactional_id,
                each.producer_id,
                each.transaction_state,
                broker,
            )
    return [found[name] for name in sorted(found)]


def _list_of_broker(
    cluster: Cluster, request: ListTransactionsRequest, node_id: int
) -> ListTransactionsResponse:
    version = cluster.version_of(request, node_id)
    if request.transactional_id_pattern and version < _FIRST_VERSION_WITH_PATTERNS:
        raise UnsupportedVersion("The broker is too old to list by a pattern.")
    if request.duration_filter >= 0 and version < _FIRST_VERSION_WITH_DURATIONS:
        raise UnsupportedVersion("The broker is too old to list by duration.")
    response = cluster.request(request, ListTransactionsResponse, node_id)
    raise_for(response.error_code)
    if response.unknown_state_filters:
        names = ", ".join(response.unknown_state_filters)
        raise InvalidRequest(f"The broker does not know the state {names}.")
    return response


def describe_transaction(
    cluster: Cluster, transactional_id: str
) -> TransactionDescription:
    """What a transactional id is doing.

    Raises:
        TransactionalIdNotFound: there is none of this name.
    """
    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])

    def describe(coordinator: Broker) -> TransactionDescription:
        response = cluster.request(
            request, DescribeTransactionsResponse, coordinator.node_id
        )
        (found,) = response.transaction_states
        raise_for(found.error_code)
        start_ms = found.transaction_start_time_ms
        return TransactionDescription(
            transactional_id,
            found.transaction_state,
            found.producer_id,
            found.producer_epoch,
            found.transaction_timeout_ms,
            None if start_ms == _NO_TIME else start_ms,
            sorted(
                TopicPartition(topic.topic, partition)
                for topic in found.topics
                for partition in topic.partitions
            ),
            coordinator,
        )

    return cluster.at_coordinator(transactional_id, describe, TRANSACTION)


def abort_transaction(cluster: Cluster, transactional_id: str) -> None:
    """Abort what is open, and shut its producer out; returns when it has ended.

    It is done as a new producer with this transactional id does it when it begins.
    """
    request = InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=_TIMEOUT_MS
    )

    def begin(coordinator: Broker) -> None:
        response = cluster.request(request, InitProducerIdResponse, coordinator.node_id)
        raise_for(response.error_code)

    # As long as the one before is being ended, nobody can begin.
    cluster.retry.run(
        lambda: cluster.at_coordinator(transactional_id, begin, TRANSACTION),
        lambda error: isinstance(error, ConcurrentTransactions),
    )

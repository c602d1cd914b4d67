"""DescribeTransactions, ListTransactions: transactions for administrators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.config.text.pattern import compile_pattern
from odradek.broker.coordinator.transaction.administration import (
    TransactionFilter,
    named_states,
)
from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.broker.runtime.parked import gathered
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import (
    ErrorCode,
    KafkaError,
    TransactionalIdAuthorizationFailed,
)
from odradek.protocol.messages.txn_admin import (
    DescribedTransaction,
    DescribedTransactionTopic,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListedTransaction,
    ListTransactionsRequest,
    ListTransactionsResponse,
)

if TYPE_CHECKING:
    from odradek.broker.coordinator.transaction.transaction import Transaction
    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.registry import Answer
    from odradek.broker.runtime.parked import Parked


@handles(
    DescribeTransactionsRequest,
    versions=(0, 0),
    needs=needs.inside(
        needs.transactional_id(Operation.DESCRIBE), needs.topic(Operation.DESCRIBE)
    ),
)
def handle_describe_transactions(
    ctx: RequestContext, request: DescribeTransactionsRequest
) -> Answer:
    """Each transactional id is described, or says why not."""
    transactions = ctx.services.transactions

    def describe(
        transactional_id: str,
    ) -> DescribedTransaction | Parked[DescribedTransaction]:
        def refuse(error: KafkaError) -> DescribedTransaction:
            return _refused(transactional_id, error)

        if not ctx.may(
            Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, transactional_id
        ):
            return refuse(TransactionalIdAuthorizationFailed())
        return transactions.describe(transactional_id, _described, refuse)

    def finish(found: list[DescribedTransaction]) -> DescribeTransactionsResponse:
        for each in found:
            each.topics = [
                topic
                for topic in each.topics
                if ctx.sees(Operation.DESCRIBE, ResourceType.TOPIC, topic.topic)
            ]
        return DescribeTransactionsResponse(transaction_states=found)

    return gathered([describe(each) for each in request.transactional_ids], finish)


def _described(transaction: Transaction) -> DescribedTransaction:
    topics: dict[str, list[int]] = {}
    for topic, partition in transaction.partitions:
        topics.setdefault(topic, []).append(partition)
    return DescribedTransaction(
        transactional_id=transaction.transactional_id,
        transaction_state=transaction.state.label,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.start_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=[
            DescribedTransactionTopic(topic=topic, partitions=partitions)
            for topic, partitions in topics.items()
        ],
    )


def _refused(transactional_id: str, error: KafkaError) -> DescribedTransaction:
    return DescribedTransaction(
        error_code=error.code, transactional_id=transactional_id, topics=[]
    )


@answers_errors(DescribeTransactionsRequest)
def refuse_describe_transactions(
    request: DescribeTransactionsRequest, error: KafkaError
) -> DescribeTransactionsResponse:
    """The same error for every transactional id."""
    refused = [_refused(each, error) for each in request.transactional_ids]
    return DescribeTransactionsResponse(transaction_states=refused)


@handles(
    ListTransactionsRequest,
    versions=(0, 2),
    needs=needs.inside(needs.transactional_id(Operation.DESCRIBE)),
)
def handle_list_transactions(
    ctx: RequestContext, request: ListTransactionsRequest
) -> Answer:
    """All that pass the filters; while some are loaded, that is an error.

    Names of states that are none let nothing pass, and are said again.

    Raises:
        InvalidRegularExpression: the pattern is none.
    """
    transactions = ctx.services.transactions
    if not transactions.runtime.is_loaded:
        code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return ListTransactionsResponse(error_code=code)
    states, unknown = named_states(request.state_filters)
    if unknown and not states:
        return ListTransactionsResponse(
            unknown_state_filters=unknown, transaction_states=[]
        )
    pattern = request.transactional_id_pattern
    wanted = TransactionFilter(
        states,
        frozenset(request.producer_id_filters),
        request.duration_filter,
        compile_pattern(pattern).fullmatch if pattern else None,
    )

    def finish(found: list[Any]) -> ListTransactionsResponse:
        listed: list[ListedTransaction] = []
        for each in found:
            if isinstance(each, KafkaError):
                return ListTransactionsResponse(error_code=each.code)
            listed += map(
                _listed,
                (
                    transaction
                    for transaction in each
                    if ctx.sees(
                        Operation.DESCRIBE,
                        ResourceType.TRANSACTIONAL_ID,
                        transaction.transactional_id,
                    )
                ),
            )
        return ListTransactionsResponse(
            error_code=ErrorCode.NONE,
            unknown_state_filters=unknown,
            transaction_states=listed,
        )

    return transactions.list_transactions(wanted, finish)


def _listed(transaction: Transaction) -> ListedTransaction:
    return ListedTransaction(
        transactional_id=transaction.transactional_id,
        producer_id=transaction.producer_id,
        transaction_state=transaction.state.label,
    )

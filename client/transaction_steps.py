"""The steps of a transaction, one by one, for who spreads them over processes.

One process takes a `ProducerIdentity` (which shuts out who had the name before), and
gives it to others, which write batches with it; the first one ends the transaction.
In the first protocol a partition, or a group, is added before anything is written to
it; in the second (KIP-890, ``transaction.version`` 2) the write itself adds it, and
every end of a transaction bumps the epoch. `TransactionName.is_implicit` says which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import (
    ConcurrentTransactions,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    NotCoordinator,
    UnknownTopicOrPartition,
)
from odradek.protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from odradek.protocol.messages.txn_offsets import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

from .batch_builder import NOBODY, ProducerIdentity
from .cluster import GROUP, TRANSACTION, may_pass
from .errors import raise_for

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from odradek.protocol.topic_partition import TopicPartition

    from .cluster import Cluster
    from .metadata import Broker

TRANSACTION_VERSION = "transaction.version"
_IMPLICIT_LEVEL = 2
# The last versions of the first protocol; the next ones mean the second.
_EXPLICIT_ADD = 3
_EXPLICIT_END = 4
_EXPLICIT_OFFSETS = 4


class TransactionName(NamedTuple):
    """A transactional id, and by which of the two protocols it is used."""

    transactional_id: str
    is_implicit: bool


class CommittedNote(NamedTuple):
    """An offset to commit, with a note of the client."""

    offset: int
    metadata: str = ""


def transaction_name(cluster: Cluster, transactional_id: str) -> TransactionName:
    """The transactional id, by the best protocol that the cluster has agreed on."""
    level = cluster.features().get(TRANSACTION_VERSION, 0)
    return TransactionName(transactional_id, level >= _IMPLICIT_LEVEL)


def init_producer_id(
    cluster: Cluster,
    name: TransactionName | None = None,
    timeout_ms: int = 60_000,
    known: ProducerIdentity = NOBODY,
) -> ProducerIdentity:
    """An identity to write with. With a name, whoever had it is shut out.

    What it left open is aborted first. With ``known``, the next epoch of that one,
    unless somebody else has the name by now.

    Raises:
        ProducerFenced, InvalidProducerEpoch: somebody else has.
        InvalidTransactionTimeout: longer than the broker allows.
    """
    request = InitProducerIdRequest(
        transactional_id=name and name.transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=known.producer_id,
        producer_epoch=known.producer_epoch,
    )

    def ask(node_id: int) -> ProducerIdentity:
        answer = cluster.request(request, InitProducerIdResponse, node_id)
        raise_for(answer.error_code)
        return ProducerIdentity(answer.producer_id, answer.producer_epoch)

    if name is None:
        node_id = next(iter(cluster.metadata(()).brokers))
        return cluster.retry.run(lambda: ask(node_id), may_pass)
    # As long as the transaction before is being ended, nobody can begin.
    return cluster.retry.run(
        lambda: cluster.at_coordinator(
            name.transactional_id, lambda broker: ask(broker.node_id), TRANSACTION
        ),
        _is_busy,
    )


def add_partitions(
    cluster: Cluster,
    name: TransactionName,
    identity: ProducerIdentity,
    places: Collection[TopicPartition],
) -> None:
    """Let partitions take part, as the first protocol wants it before a write."""
    topics: dict[str, list[int]] = {}
    for topic, partition in places:
        topics.setdefault(topic, []).append(partition)
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=name.transactional_id,
        v3_and_below_producer_id=identity.producer_id,
        v3_and_below_producer_epoch=identity.producer_epoch,
        v3_and_below_topics=[
            AddPartitionsToTxnTopic(name=topic, partitions=partitions)
            for topic, partitions in topics.items()
        ],
    )

    def ask(broker: Broker) -> None:
        answer = cluster.request(
            request, AddPartitionsToTxnResponse, broker.node_id, _EXPLICIT_ADD
        )
        codes = [
            each.partition_error_code
            for topic in answer.results_by_topic_v3_and_below
            for each in topic.results_by_partition
        ]
        # OPERATION_NOT_ATTEMPTED only says that another one of them was refused.
        for code in sorted(codes, key=lambda code: code == _NOT_ATTEMPTED):
            raise_for(code)

    _at_coordinator(cluster, name, ask)


_NOT_ATTEMPTED = 55


def commit_offsets_in_transaction(
    cluster: Cluster,
    name: TransactionName,
    identity: ProducerIdentity,
    group_id: str,
    offsets: Mapping[TopicPartition, CommittedNote],
) -> None:
    """Let a group without members go on from there, once the transaction commits."""
    if not name.is_implicit:
        _add_offsets(cluster, name, identity, group_id)
    topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
    for place, note in offsets.items():
        partition = TxnOffsetCommitRequestPartition(
            partition_index=place.partition,
            committed_offset=note.offset,
            committed_metadata=note.metadata,
        )
        topics.setdefault(place.topic, []).append(partition)
    request = TxnOffsetCommitRequest(
        transactional_id=name.transactional_id,
        group_id=group_id,
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
        topics=[
            TxnOffsetCommitRequestTopic(name=topic, partitions=partitions)
            for topic, partitions in topics.items()
        ],
    )
    version_max = None if name.is_implicit else _EXPLICIT_OFFSETS

    def ask(broker: Broker) -> None:
        answer = cluster.request(
            request, TxnOffsetCommitResponse, broker.node_id, version_max
        )
        for topic in answer.topics:
            for each in topic.partitions:
                raise_for(each.error_code)

    cluster.retry.run(lambda: cluster.at_coordinator(group_id, ask, GROUP), _is_busy)


def _add_offsets(
    cluster: Cluster, name: TransactionName, identity: ProducerIdentity, group_id: str
) -> None:
    request = AddOffsetsToTxnRequest(
        transactional_id=name.transactional_id,
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
        group_id=group_id,
    )

    def ask(broker: Broker) -> None:
        answer = cluster.request(
            request, AddOffsetsToTxnResponse, broker.node_id, _EXPLICIT_ADD
        )
        raise_for(answer.error_code)

    _at_coordinator(cluster, name, ask)


def end_transaction(
    cluster: Cluster,
    name: TransactionName,
    identity: ProducerIdentity,
    *,
    commit: bool,
) -> ProducerIdentity:
    """Commit or abort; the identity for the next transaction.

    When the connection is lost on the way it is asked again, which is safe: to end
    twice in the same way is allowed.

    Raises:
        ProducerFenced, InvalidProducerEpoch: somebody else has the name by now.
        InvalidTxnState: there is no such transaction, or it ended the other way.
    """
    request = EndTxnRequest(
        transactional_id=name.transactional_id,
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
        committed=commit,
    )
    version_max = None if name.is_implicit else _EXPLICIT_END

    def ask(broker: Broker) -> ProducerIdentity:
        answer = cluster.request(request, EndTxnResponse, broker.node_id, version_max)
        raise_for(answer.error_code)
        if answer.producer_id == NOBODY.producer_id:
            return identity
        return ProducerIdentity(answer.producer_id, answer.producer_epoch)

    return cluster.retry.run(
        lambda: cluster.at_coordinator(name.transactional_id, ask, TRANSACTION),
        _is_busy,
    )


def _at_coordinator(cluster: Cluster, name: TransactionName, ask: Ask) -> None:
    cluster.retry.run(
        lambda: cluster.at_coordinator(name.transactional_id, ask, TRANSACTION),
        _is_busy,
    )


def _is_busy(error: Exception) -> bool:
    """Whether it may do when it is asked again: something is being ended or made."""
    passing = (
        ConcurrentTransactions,
        UnknownTopicOrPartition,  # made a moment ago
        CoordinatorLoadInProgress,
        CoordinatorNotAvailable,
        NotCoordinator,
    )
    return isinstance(error, passing)


if TYPE_CHECKING:
    from collections.abc import Callable

    Ask = Callable[[Broker], None]

"""Transactions that hang: open in a log, and owned by no coordinator (KIP-664).

Readers of committed records wait behind one for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import NotLeaderOrFollower, TransactionalIdNotFound
from odradek.protocol.messages.txn_admin import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

from .cluster import may_pass
from .errors import raise_for
from .producers import describe_producers
from .transactions import (
    RUNNING,
    TransactionFilter,
    describe_transaction,
    list_transactions,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from odradek.protocol.errors import KafkaError
    from odradek.protocol.topic_partition import TopicPartition

    from .cluster import Cluster
    from .producers import ActiveProducer
    from .transactions import TransactionDescription


class Hanging(NamedTuple):
    """What hangs, and the partitions of which nothing can be said."""

    found: list[ActiveProducer]
    failed: dict[TopicPartition, KafkaError]


def find_hanging(
    cluster: Cluster, places: Collection[TopicPartition], before_ms: int
) -> Hanging:
    """What hangs in these partitions, and was written last before that time."""
    producers = describe_producers(cluster, places)
    candidates = [
        each
        for place in sorted(producers.found)
        for each in producers.found[place]
        if each.start_offset is not None and each.last_timestamp_ms < before_ms
    ]
    owners = owners_of(cluster, {each.producer_id for each in candidates})
    found = [each for each in candidates if not _is_owned(each, owners)]
    return Hanging(found, producers.failed)


def owner_of(
    cluster: Cluster, producer: ActiveProducer
) -> TransactionDescription | None:
    """The transaction to which belongs what is open in a partition."""
    owners = owners_of(cluster, {producer.producer_id})
    return owners.get(producer.producer_id) if _is_owned(producer, owners) else None


def owners_of(
    cluster: Cluster, producer_ids: Collection[int]
) -> dict[int, TransactionDescription]:
    """The transactions of these producers that are not over."""
    owners: dict[int, TransactionDescription] = {}
    if not producer_ids:
        return owners
    wanted = TransactionFilter(RUNNING, sorted(producer_ids))
    for listing in list_transactions(cluster, wanted):
        try:
            found = describe_transaction(cluster, listing.transactional_id)
        except TransactionalIdNotFound:  # meanwhile
            continue
        owners[listing.producer_id] = found
    return owners


def _is_owned(
    producer: ActiveProducer, owners: dict[int, TransactionDescription]
) -> bool:
    owner = owners.get(producer.producer_id)
    return owner is not None and producer.place in owner.partitions


def abort_hanging(cluster: Cluster, producer: ActiveProducer) -> None:
    """Write the abort of what is open in a partition and owned by nobody.

    Raises:
        ClusterAuthorizationFailed: a coordinator owns it.
        InvalidTxnState, InvalidProducerEpoch: it is not open any more.
    """
    topic, partition = producer.place
    marker = WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])],
        coordinator_epoch=max(producer.coordinator_epoch, 0),
    )
    request = WriteTxnMarkersRequest(markers=[marker])

    def write() -> None:
        leader = cluster.metadata([topic]).leader_of(producer.place)
        response = cluster.request(request, WriteTxnMarkersResponse, leader)
        (answered,) = response.markers[0].topics[0].partitions
        raise_for(answered.error_code)

    cluster.retry.run(
        write,
        lambda error: isinstance(error, NotLeaderOrFollower) or may_pass(error),
    )

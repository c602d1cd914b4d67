"""WriteTxnMarkers 1-2: ends of transactions, written where nobody else would.

In a cluster coordinators send this to the leaders of partitions. A broker that is
alone need not ask. What is left is what administrators do with it (KIP-664): abort a
transaction that hangs in a log, and that is all which is served. A commit, or the end
of what a coordinator has in its hands, would break the promise of all or nothing; the
option ``inter.broker.apis.enable`` allows it all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.transaction.marker_writer import Marker
from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.broker.runtime.parked import Parked, gathered
from odradek.protocol.acls import Operation
from odradek.protocol.errors import (
    ClusterAuthorizationFailed,
    CoordinatorLoadInProgress,
    ErrorCode,
    InvalidProducerEpoch,
    InvalidTxnState,
    KafkaError,
    TransactionCoordinatorFenced,
)
from odradek.protocol.messages.txn_admin import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.registry import Answer
    from odradek.broker.requests.services import Services
    from odradek.protocol.messages.txn_admin import WritableTxnMarker

# Of the coordinator that has the offsets of a transaction.
_OF_GROUPS = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


@handles(
    WriteTxnMarkersRequest,
    versions=(1, 2),
    needs=needs.before(
        needs.cluster(Operation.ALTER, otherwise=Operation.CLUSTER_ACTION)
    ),
)
def handle_write_txn_markers(
    ctx: RequestContext, request: WriteTxnMarkersRequest
) -> Answer:
    """Write each marker that may be written; answered when they are durable."""
    services = ctx.services
    unopened = services.replica_manager.unopened(
        each for asked in request.markers for each in _partitions(asked)
    )
    if unopened:
        return _write_when_open(services, request, unopened)
    return _write(services, request)


async def _write_when_open(
    services: Services,
    request: WriteTxnMarkersRequest,
    unopened: list[TopicPartition],
) -> WriteTxnMarkersResponse:
    await services.replica_manager.open(unopened)
    answer = _write(services, request)
    return await answer if isinstance(answer, Parked) else answer


def _write(
    services: Services, request: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse | Parked[WriteTxnMarkersResponse]:
    answers = [_write_one(services, asked) for asked in request.markers]
    return gathered(answers, lambda results: WriteTxnMarkersResponse(markers=results))


def _write_one(
    services: Services, asked: WritableTxnMarker
) -> WritableTxnMarkerResult | Parked[WritableTxnMarkerResult]:
    marker = Marker(
        ProducerIdentity(asked.producer_id, asked.producer_epoch),
        asked.transaction_result,
        asked.coordinator_epoch,
        asked.transaction_version,
    )
    refused: dict[TopicPartition, int] = {}
    for each in _partitions(asked):
        try:
            _check(services, marker, each)
        except KafkaError as error:
            refused[each] = error.code
    admitted = tuple(each for each in _partitions(asked) if each not in refused)
    written = services.transactions.markers.append(marker, admitted)

    def finish(found: list[dict[TopicPartition, int]]) -> WritableTxnMarkerResult:
        codes = {**refused, **found[0]}
        if services.cluster is not None:
            codes = {each: _as_told(code) for each, code in codes.items()}
        return _result(asked, codes.__getitem__)

    return gathered([written], finish)


def _check(services: Services, marker: Marker, topic_partition: TopicPartition) -> None:
    """See that the marker may be written.

    Raises:
        ClusterAuthorizationFailed: only a coordinator may decide that.
        InvalidTxnState: nothing of this producer is open there.
        InvalidProducerEpoch: what is open has another epoch.
        TransactionCoordinatorFenced: a coordinator of another epoch wrote there last.
        CoordinatorLoadInProgress: it is not known yet who owns it.
        KafkaError: the partition is not ours.
    """
    services.replica_manager.partition(topic_partition).leadership.check()
    if services.cluster is not None or services.config.inter_broker_apis_enable:
        return
    if marker.is_commit:
        raise ClusterAuthorizationFailed
    transactions = services.transactions
    if not transactions.runtime.is_loaded:
        raise CoordinatorLoadInProgress
    for shard in transactions.runtime.shards():
        shard.check_active()
    orphans = transactions.orphans
    for found in orphans.open_in(topic_partition):
        if found.producer.producer_id == marker.producer.producer_id:
            break
    else:
        raise InvalidTxnState
    if not orphans.is_orphan(found) or orphans.is_committed(found):
        raise ClusterAuthorizationFailed
    # Higher epochs would shut out those who come by right.
    if found.producer != marker.producer:
        raise InvalidProducerEpoch
    if marker.coordinator_epoch != max(found.coordinator_epoch, 0):
        raise TransactionCoordinatorFenced


def _as_told(code: int) -> int:
    """The code as coordinators of transactions know it: they ask again."""
    return ErrorCode.NOT_LEADER_OR_FOLLOWER if code in _OF_GROUPS else code


def _partitions(asked: WritableTxnMarker) -> list[TopicPartition]:
    return [
        TopicPartition(topic.name, number)
        for topic in asked.topics
        for number in dict.fromkeys(topic.partition_indexes)
    ]


def _result(
    asked: WritableTxnMarker, code_of: Callable[[TopicPartition], int]
) -> WritableTxnMarkerResult:
    return WritableTxnMarkerResult(
        producer_id=asked.producer_id,
        topics=[
            WritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=[
                    WritableTxnMarkerPartitionResult(
                        partition_index=number,
                        error_code=code_of(TopicPartition(topic.name, number)),
                    )
                    for number in topic.partition_indexes
                ],
            )
            for topic in asked.topics
        ],
    )


@answers_errors(WriteTxnMarkersRequest)
def refuse_write_txn_markers(
    request: WriteTxnMarkersRequest, error: KafkaError
) -> WriteTxnMarkersResponse:
    """The same error for every partition."""
    return WriteTxnMarkersResponse(
        markers=[_result(asked, lambda _: error.code) for asked in request.markers]
    )

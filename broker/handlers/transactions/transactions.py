"""What transactional producers ask: AddPartitionsToTxn, AddOffsetsToTxn, EndTxn."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.transaction.add_partitions import IMPLICIT_ADD, Addition
from odradek.broker.coordinator.transaction.end import Ending
from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.broker.runtime.parked import Parked, gathered
from odradek.protocol.acls import CLUSTER_NAME, Operation, ResourceType
from odradek.protocol.errors import ErrorCode, KafkaError, UnsupportedVersion
from odradek.protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    EndTxnRequest,
    EndTxnResponse,
)
from odradek.protocol.topic_partition import TopicPartition

from .init_producer_id import without_producer_fenced

if TYPE_CHECKING:
    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.registry import Answer
    from odradek.protocol.messages.transactions import (
        AddPartitionsToTxnTopic,
        AddPartitionsToTxnTransaction,
    )

FIRST_VERSION_WITH_PRODUCER_FENCED = 2
FIRST_VERSION_OF_BROKERS = 4
FIRST_VERSION_WITH_ABORTABLE = 5
FIRST_VERSION_WITH_EPOCH_BUMP = 5


@handles(
    AddPartitionsToTxnRequest,
    versions=(0, 5),
    advertised=(0, 3),
    needs=needs.inside(
        needs.transactional_id(Operation.WRITE),
        needs.topic(Operation.WRITE),
        needs.cluster(Operation.CLUSTER_ACTION),
    ),
)
def handle_add_partitions_to_txn(
    ctx: RequestContext, request: AddPartitionsToTxnRequest
) -> Answer:
    """Answered when the coordinator knows for good where the markers have to go.

    Raises:
        UnsupportedVersion: a form that only brokers use.
    """
    if ctx.api_version >= FIRST_VERSION_OF_BROKERS:
        return _add_of_each(ctx, request)
    ctx.require(
        Operation.WRITE,
        ResourceType.TRANSACTIONAL_ID,
        request.v3_and_below_transactional_id,
    )
    producer = ProducerIdentity(
        request.v3_and_below_producer_id, request.v3_and_below_producer_epoch
    )
    topics = request.v3_and_below_topics

    wanted = partitions_of(topics)
    unknown = _refused_unknown(ctx, wanted, _denied(ctx, wanted))
    if unknown:
        return respond_to_addition(topics, unknown)
    addition = Addition(request.v3_and_below_transactional_id, producer, tuple(wanted))
    return ctx.services.transactions.add_partitions(
        addition,
        respond_to_addition(topics, dict.fromkeys(wanted, ErrorCode.NONE)),
        partial(refuse_addition, ctx.api_version, topics),
    )


def respond_to_addition(
    topics: list[AddPartitionsToTxnTopic], codes: dict[TopicPartition, int]
) -> AddPartitionsToTxnResponse:
    """The response to a producer, with a code for each partition."""
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=_topic_results(topics, codes)
    )


def refuse_addition(
    api_version: int, topics: list[AddPartitionsToTxnTopic], error: KafkaError
) -> AddPartitionsToTxnResponse:
    """The response with the same code for all of them."""
    code = _in_version(api_version, error.code)
    return respond_to_addition(topics, dict.fromkeys(partitions_of(topics), code))


def _add_of_each(ctx: RequestContext, request: AddPartitionsToTxnRequest) -> Answer:
    """The form of brokers: many transactions, to be added to or only verified."""
    services = ctx.services
    if services.cluster is None and not services.config.inter_broker_apis_enable:
        raise UnsupportedVersion
    ctx.require(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
    return gathered(
        [_add_or_verify(ctx, each) for each in request.transactions],
        lambda results: AddPartitionsToTxnResponse(results_by_transaction=results),
    )


def _add_or_verify(
    ctx: RequestContext, asked: AddPartitionsToTxnTransaction
) -> AddPartitionsToTxnResult | Parked[AddPartitionsToTxnResult]:
    def finish(codes: dict[TopicPartition, int]) -> AddPartitionsToTxnResult:
        if ctx.api_version < FIRST_VERSION_WITH_ABORTABLE:
            codes = {each: _without_abortable(code) for each, code in codes.items()}
        return AddPartitionsToTxnResult(
            transactional_id=asked.transactional_id,
            topic_results=_topic_results(asked.topics, codes),
        )

    def refuse(error: KafkaError) -> AddPartitionsToTxnResult:
        return finish(dict.fromkeys(wanted, error.code))

    wanted, is_alone = partitions_of(asked.topics), ctx.services.cluster is None
    addition = Addition(
        asked.transactional_id,
        ProducerIdentity(asked.producer_id, asked.producer_epoch),
        tuple(wanted),
        # Brokers that add do it for producers of the second protocol.
        0 if asked.verify_only or is_alone else IMPLICIT_ADD,
    )
    unknown = _refused_unknown(ctx, wanted, set())
    if unknown:
        return finish(unknown)
    transactions = ctx.services.transactions
    # Brokers get one answer for all of theirs: nobody waits for the end of somebody
    # else's transaction.
    if asked.verify_only:
        return transactions.verify(addition, finish, refuse, is_patient=is_alone)
    added = finish(dict.fromkeys(wanted, ErrorCode.NONE))
    return transactions.add_partitions(addition, added, refuse, is_patient=is_alone)


def partitions_of(topics: list[AddPartitionsToTxnTopic]) -> list[TopicPartition]:
    """All partitions that a request names."""
    return [
        TopicPartition(topic.name, partition)
        for topic in topics
        for partition in topic.partitions
    ]


def _denied(ctx: RequestContext, wanted: list[TopicPartition]) -> set[str]:
    """The topics that the client may not write."""
    names = dict.fromkeys(each.topic for each in wanted)
    return {
        name for name in names if not ctx.may(Operation.WRITE, ResourceType.TOPIC, name)
    }


def _refused_unknown(
    ctx: RequestContext, wanted: list[TopicPartition], denied: set[str]
) -> dict[TopicPartition, int]:
    """What is answered when not all partitions are known, or may be written.

    Nothing is added then.
    """
    metadata = ctx.services.metadata
    refused: dict[TopicPartition, int] = {}
    for each in wanted:
        if each.topic in denied:
            refused[each] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        elif metadata.partition(each) is None:
            refused[each] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif (
            metadata.mirrored
            and metadata.known(each.topic).topic_id in metadata.mirrored
        ):
            refused[each] = ErrorCode.POLICY_VIOLATION
    if not refused:
        return {}
    other = ErrorCode.OPERATION_NOT_ATTEMPTED
    return {each: refused.get(each, other) for each in wanted}


def _topic_results(
    topics: list[AddPartitionsToTxnTopic], codes: dict[TopicPartition, int]
) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=partition,
                    partition_error_code=codes[TopicPartition(topic.name, partition)],
                )
                for partition in topic.partitions
            ],
        )
        for topic in topics
    ]


def _in_version(api_version: int, code: int) -> int:
    """The code that clients of this version of the request know."""
    if api_version < FIRST_VERSION_WITH_PRODUCER_FENCED:
        return without_producer_fenced(code)
    return code


def _without_abortable(code: int) -> int:
    if code == ErrorCode.TRANSACTION_ABORTABLE:
        return ErrorCode.INVALID_TXN_STATE
    return code


@answers_errors(AddPartitionsToTxnRequest)
def refuse_add_partitions_to_txn(
    request: AddPartitionsToTxnRequest, error: KafkaError
) -> AddPartitionsToTxnResponse:
    """The same code for every partition, or for the request of a broker."""
    topics = request.v3_and_below_topics
    codes = dict.fromkeys(partitions_of(topics), int(error.code))
    return AddPartitionsToTxnResponse(
        error_code=error.code,
        results_by_topic_v3_and_below=_topic_results(topics, codes),
    )


@handles(
    AddOffsetsToTxnRequest,
    versions=(0, 4),
    needs=needs.before(
        needs.transactional_id(Operation.WRITE, "transactional_id"),
        needs.group(Operation.READ, "group_id"),
    ),
)
def handle_add_offsets_to_txn(
    ctx: RequestContext, request: AddOffsetsToTxnRequest
) -> Answer:
    """Answered when the partition of the group's offsets takes part for good."""
    if not ctx.services.groups.has_topic:  # nobody has asked for a group yet
        return _make_and_add_offsets(ctx, request)
    return _add_offsets(ctx, request)


async def _make_and_add_offsets(
    ctx: RequestContext, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse:
    try:
        await ctx.services.groups.create_topic()
    except KafkaError:
        return AddOffsetsToTxnResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    answer = _add_offsets(ctx, request)
    return await answer if isinstance(answer, Parked) else answer


def _add_offsets(
    ctx: RequestContext, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse | Parked[AddOffsetsToTxnResponse]:
    def refuse(error: KafkaError) -> AddOffsetsToTxnResponse:
        return AddOffsetsToTxnResponse(
            error_code=_in_version(ctx.api_version, error.code)
        )

    addition = Addition(
        request.transactional_id,
        ProducerIdentity(request.producer_id, request.producer_epoch),
        (ctx.services.groups.partition_of(request.group_id),),
    )
    return ctx.services.transactions.add_partitions(
        addition, AddOffsetsToTxnResponse(), refuse
    )


@handles(
    EndTxnRequest,
    versions=(0, 5),
    needs=needs.before(needs.transactional_id(Operation.WRITE, "transactional_id")),
)
def handle_end_txn(ctx: RequestContext, request: EndTxnRequest) -> Answer:
    """Answered when it is decided for good how the transaction ends."""
    bumps_epoch = ctx.api_version >= FIRST_VERSION_WITH_EPOCH_BUMP

    def answer(producer: ProducerIdentity) -> EndTxnResponse:
        if not bumps_epoch:
            return EndTxnResponse()
        return EndTxnResponse(
            producer_id=producer.producer_id, producer_epoch=producer.producer_epoch
        )

    ending = Ending(
        request.transactional_id,
        ProducerIdentity(request.producer_id, request.producer_epoch),
        request.committed,
        bumps_epoch,
    )
    refuse = partial(refuse_end, ctx.api_version)
    return ctx.services.transactions.end(ending, answer, refuse)


def refuse_end(api_version: int, error: KafkaError) -> EndTxnResponse:
    """The response that says what is wrong."""
    return EndTxnResponse(error_code=_in_version(api_version, error.code))

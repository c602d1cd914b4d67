"""DescribeProducers 0: who writes to partitions with a producer id (KIP-664).

What the log of a partition knows is told, transactions that nobody coordinates any
more included: that is how those are found which hold readers of committed records up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.txn_admin import (
    DescribedProducersPartition,
    DescribedProducersTopic,
    DescribeProducersRequest,
    DescribeProducersResponse,
    ProducerState,
)
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.registry import Answer
    from odradek.broker.requests.services import Services


@handles(
    DescribeProducersRequest,
    versions=(0, 0),
    needs=needs.inside(needs.topic(Operation.READ)),
)
def handle_describe_producers(
    ctx: RequestContext, request: DescribeProducersRequest
) -> Answer:
    """Answer for each partition, in the order of the request."""
    services = ctx.services
    unopened = services.replica_manager.unopened(
        TopicPartition(topic.name, number)
        for topic in request.topics
        for number in topic.partition_indexes
    )
    if unopened:
        return _answer_when_open(ctx, request, unopened)
    return _answer(ctx, request)


async def _answer_when_open(
    ctx: RequestContext,
    request: DescribeProducersRequest,
    unopened: list[TopicPartition],
) -> DescribeProducersResponse:
    await ctx.services.replica_manager.open(unopened)
    return _answer(ctx, request)


def _answer(
    ctx: RequestContext, request: DescribeProducersRequest
) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            DescribedProducersTopic(
                name=topic.name,
                partitions=[
                    _described(ctx, TopicPartition(topic.name, number))
                    for number in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def _described(
    ctx: RequestContext, topic_partition: TopicPartition
) -> DescribedProducersPartition:
    try:
        ctx.require(Operation.READ, ResourceType.TOPIC, topic_partition.topic)
        return DescribedProducersPartition(
            partition_index=topic_partition.partition,
            active_producers=_active_producers(ctx.services, topic_partition),
        )
    except KafkaError as error:
        return _refused(topic_partition.partition, error)


def _active_producers(
    services: Services, topic_partition: TopicPartition
) -> list[ProducerState]:
    partition = services.replica_manager.partition(topic_partition)
    partition.leadership.check()
    if partition.log is None:  # never written
        return []
    return [
        ProducerState(
            producer_id=state.producer_id,
            producer_epoch=state.producer_epoch,
            last_sequence=state.last_sequence,
            last_timestamp=state.last_timestamp,
            coordinator_epoch=state.coordinator_epoch,
            current_txn_start_offset=state.current_txn_first_offset,
        )
        for state in partition.log.producers
    ]


def _refused(partition: int, error: KafkaError) -> DescribedProducersPartition:
    return DescribedProducersPartition(
        partition_index=partition,
        error_code=error.code,
        error_message=str(error),
        active_producers=[],
    )


@answers_errors(DescribeProducersRequest)
def refuse_describe_producers(
    request: DescribeProducersRequest, error: KafkaError
) -> DescribeProducersResponse:
    """The same error for every partition."""
    return DescribeProducersResponse(
        topics=[
            DescribedProducersTopic(
                name=topic.name,
                partitions=[
                    _refused(number, error) for number in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )

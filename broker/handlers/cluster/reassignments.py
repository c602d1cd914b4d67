"""AlterPartitionReassignments 0-1, ListPartitionReassignments 0: of one broker.

A partition can be assigned to this broker, where it is: nothing ever moves, so there
is never a move to list, or to cancel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.metadata.topic_creation import check_brokers
from odradek.broker.requests import needs
from odradek.broker.requests.registry import handles
from odradek.protocol.acls import Operation
from odradek.protocol.errors import (
    ErrorCode,
    KafkaError,
    NoReassignmentInProgress,
    UnknownTopicOrPartition,
)
from odradek.protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.broker.requests.context import RequestContext


@handles(
    AlterPartitionReassignmentsRequest,
    versions=(0, 1),
    needs=needs.before(needs.cluster(Operation.ALTER)),
)
def handle_alter_partition_reassignments(
    ctx: RequestContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    """Say of each partition whether it is where it should be."""
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_message=None,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    _result(ctx, topic.name, each) for each in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


@handles(
    ListPartitionReassignmentsRequest,
    versions=(0, 0),
    needs=needs.before(needs.cluster(Operation.DESCRIBE)),
)
def handle_list_partition_reassignments(
    ctx: RequestContext, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """Nothing moves."""
    return ListPartitionReassignmentsResponse(error_message=None)


def _result(
    ctx: RequestContext, topic: str, partition: ReassignablePartition
) -> ReassignablePartitionResponse:
    result = ReassignablePartitionResponse(
        partition_index=partition.partition_index, error_message=None
    )
    try:
        _check(ctx, topic, partition)
    except NoReassignmentInProgress as error:
        result.error_code = error.code
    except KafkaError as error:
        result.error_code = ErrorCode(error.code)
        result.error_message = str(error)
    return result


def _check(ctx: RequestContext, topic: str, partition: ReassignablePartition) -> None:
    topics, number = ctx.services.metadata, partition.partition_index
    if topics.get(topic) is None:
        raise UnknownTopicOrPartition(f"Unable to find a topic named {topic}.")
    if topics.partition(TopicPartition(topic, number)) is None:
        raise UnknownTopicOrPartition(f"Unable to find partition {topic}:{number}.")
    if partition.replicas is None:
        raise NoReassignmentInProgress
    check_brokers(partition.replicas, ctx.services.node_id)

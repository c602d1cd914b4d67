"""OffsetForLeaderEpoch: where a leader epoch ended, for each partition (KIP-320).

A client that knows the last epoch it read asks this after a change of leader, to
learn whether what it has read is still the beginning of what the log holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.protocol.acls import CLUSTER_NAME, Operation, ResourceType
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.list_offsets import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.registry import Answer
    from odradek.protocol.messages.list_offsets import OffsetForLeaderPartition


@handles(
    OffsetForLeaderEpochRequest,
    versions=(2, 4),
    needs=needs.inside(
        needs.topic(Operation.DESCRIBE), needs.cluster(Operation.CLUSTER_ACTION)
    ),
)
def handle_offset_for_leader_epoch(
    ctx: RequestContext, request: OffsetForLeaderEpochRequest
) -> Answer:
    """Answer for each partition, in the order of the request.

    Everybody may ask, whatever replica id the request has; only the leader answers.
    """
    replica_manager = ctx.services.replica_manager
    unopened = replica_manager.unopened(
        TopicPartition(topic.topic, each.partition)
        for topic in request.topics
        for each in topic.partitions
    )
    if unopened:
        return _answer_when_open(ctx, request, unopened)
    return _answer(ctx, request)


async def _answer_when_open(
    ctx: RequestContext,
    request: OffsetForLeaderEpochRequest,
    unopened: list[TopicPartition],
) -> OffsetForLeaderEpochResponse:
    await ctx.services.replica_manager.open(unopened)
    return _answer(ctx, request)


def _answer(
    ctx: RequestContext, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    _end_of_epoch(ctx, topic.topic, each) for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _end_of_epoch(
    ctx: RequestContext, topic: str, wanted: OffsetForLeaderPartition
) -> EpochEndOffset:
    end = EpochEndOffset(partition=wanted.partition)
    try:
        if not ctx.sees(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME):
            ctx.require(Operation.DESCRIBE, ResourceType.TOPIC, topic)
        replica_manager = ctx.services.replica_manager
        partition = replica_manager.partition(TopicPartition(topic, wanted.partition))
        partition.leadership.check(wanted.current_leader_epoch)
        found = partition.view.epoch_end_offset(wanted.leader_epoch)
        end.leader_epoch, end.end_offset = found
    except KafkaError as error:
        end.error_code = error.code
    return end


@answers_errors(OffsetForLeaderEpochRequest)
def refuse_offset_for_leader_epoch(
    request: OffsetForLeaderEpochRequest, error: KafkaError
) -> OffsetForLeaderEpochResponse:
    """The same error for every partition."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    EpochEndOffset(partition=each.partition, error_code=error.code)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )

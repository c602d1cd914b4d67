"""OffsetCommit: where groups are. From version 10 on topics are called by their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.offsets.commit import Committer, WantedOffset
from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from odradek.broker.metadata.topic import Topic
    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.registry import Answer
    from odradek.protocol.errors import KafkaError
    from odradek.protocol.messages.offsets import (
        OffsetCommitRequestPartition,
        OffsetCommitRequestTopic,
    )
    from odradek.protocol.messages.txn_offsets import TxnOffsetCommitRequestPartition

FIRST_VERSION_WITH_TOPIC_IDS = 10


@handles(
    OffsetCommitRequest,
    versions=(2, 10),
    needs=needs.inside(needs.group(Operation.READ), needs.topic(Operation.READ)),
)
def handle_offset_commit(ctx: RequestContext, request: OffsetCommitRequest) -> Answer:
    """Answered when what was committed is durable."""
    ctx.require(Operation.READ, ResourceType.GROUP, request.group_id)
    committer = Committer(
        request.group_id,
        request.generation_id_or_member_epoch,
        request.member_id,
        request.group_instance_id,
    )
    response = OffsetCommitResponse(topics=[])
    wanted: list[WantedOffset] = []
    places: list[OffsetCommitResponsePartition] = []
    for asked in request.topics:
        topic = _topic(ctx, asked)
        is_denied = _is_denied(ctx, asked, topic)
        answered = OffsetCommitResponseTopic(
            name=asked.name, topic_id=asked.topic_id, partitions=[]
        )
        response.topics.append(answered)
        for each in asked.partitions:
            place = OffsetCommitResponsePartition(
                partition_index=each.partition_index, error_code=ErrorCode.NONE
            )
            answered.partitions.append(place)
            if is_denied:
                place.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif topic is None:
                place.error_code = _unknown(ctx)
            elif not 0 <= each.partition_index < len(topic.partitions):
                place.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                places.append(place)
                wanted.append(wanted_offset(topic, each))

    def answer(codes: list[int]) -> OffsetCommitResponse:
        for place, code in zip(places, codes, strict=True):
            place.error_code = code
        return response

    def refuse(error: KafkaError) -> OffsetCommitResponse:
        return answer([error.code] * len(places))

    return ctx.services.groups.commit(
        committer,
        wanted,
        ctx.api_version,
        request.retention_time_ms,
        answer,
        refuse,
    )


def wanted_offset(
    topic: Topic,
    asked: OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition,
) -> WantedOffset:
    """What a client commits for a partition of ``topic``."""
    return WantedOffset(
        topic.name,
        asked.partition_index,
        asked.committed_offset,
        asked.committed_leader_epoch,
        asked.committed_metadata or "",
        topic.topic_id,
    )


def _topic(ctx: RequestContext, asked: OffsetCommitRequestTopic) -> Topic | None:
    topics = ctx.services.metadata
    if ctx.api_version >= FIRST_VERSION_WITH_TOPIC_IDS:
        return topics.by_id(asked.topic_id)
    return topics.get(asked.name)


def _is_denied(
    ctx: RequestContext, asked: OffsetCommitRequestTopic, topic: Topic | None
) -> bool:
    """Whether the topic is not the client's; an unknown id has no name to ask for."""
    name = asked.name if topic is None else topic.name
    if topic is None and ctx.api_version >= FIRST_VERSION_WITH_TOPIC_IDS:
        return False
    return not ctx.may(Operation.READ, ResourceType.TOPIC, name)


def _unknown(ctx: RequestContext) -> int:
    if ctx.api_version >= FIRST_VERSION_WITH_TOPIC_IDS:
        return ErrorCode.UNKNOWN_TOPIC_ID
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@answers_errors(OffsetCommitRequest)
def refuse_offset_commit(
    request: OffsetCommitRequest, error: KafkaError
) -> OffsetCommitResponse:
    """The same code for every partition."""
    return answer_with(request, error.code)


def answer_with(request: OffsetCommitRequest, code: int) -> OffsetCommitResponse:
    """The answer of one code for every partition."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(
                        partition_index=each.partition_index, error_code=code
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )

"""OffsetFetch: one group up to version 7, many at once from version 8 on (KIP-709)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.offsets.fetch import (
    NO_OFFSET,
    NOTHING_COMMITTED,
    FetchedOffset,
    Fetcher,
)
from odradek.broker.coordinator.group.state.records import ZERO_UUID
from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.broker.runtime.parked import gathered
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import ErrorCode, GroupAuthorizationFailed
from odradek.protocol.messages.offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

if TYPE_CHECKING:
    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.registry import Answer
    from odradek.broker.runtime.parked import Parked
    from odradek.protocol.errors import KafkaError

FIRST_VERSION_WITH_GROUPS = 8
FIRST_VERSION_WITH_TOPIC_IDS = 10


@handles(
    OffsetFetchRequest,
    versions=(1, 10),
    needs=needs.inside(
        needs.group(Operation.DESCRIBE), needs.topic(Operation.DESCRIBE)
    ),
)
def handle_offset_fetch(ctx: RequestContext, request: OffsetFetchRequest) -> Answer:
    """Answered when everything that it tells is durable."""
    if ctx.api_version >= FIRST_VERSION_WITH_GROUPS:
        answers = [_fetch(ctx, each, request.require_stable) for each in request.groups]
        return gathered(answers, lambda groups: OffsetFetchResponse(groups=groups))
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(
                name=each.name, partition_indexes=each.partition_indexes
            )
            for each in request.topics
        ]
    group = OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)
    answers = [_fetch(ctx, group, request.require_stable)]
    return gathered(answers, partial(_of_one, ctx.api_version, group))


def _fetch(
    ctx: RequestContext, group: OffsetFetchRequestGroup, require_stable: bool
) -> OffsetFetchResponseGroup | Parked[OffsetFetchResponseGroup]:
    """The answer for one group, or a parked one."""
    unknown: list[OffsetFetchResponseTopics] = []
    wanted: list[tuple[str, int]] | None = None
    if group.topics is not None:
        wanted = []
        for topic in group.topics:
            name: str | None = topic.name
            if ctx.api_version >= FIRST_VERSION_WITH_TOPIC_IDS:
                found = ctx.services.metadata.by_id(topic.topic_id)
                name = None if found is None else found.name
            if name is None:
                unknown.append(_unknown(topic, ErrorCode.UNKNOWN_TOPIC_ID))
            elif not ctx.may(Operation.DESCRIBE, ResourceType.TOPIC, name):
                code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                unknown.append(_unknown(topic, code))
            else:
                wanted += [(name, number) for number in topic.partition_indexes]

    def answer(found: list[FetchedOffset]) -> OffsetFetchResponseGroup:
        if wanted is None:  # all of them: of those that the client may see
            found = [
                each
                for each in found
                if ctx.sees(Operation.DESCRIBE, ResourceType.TOPIC, each[0])
            ]
        topics = _by_topic(ctx, found)
        return OffsetFetchResponseGroup(
            group_id=group.group_id, topics=topics + unknown, error_code=ErrorCode.NONE
        )

    def refuse(error: KafkaError) -> OffsetFetchResponseGroup:
        return OffsetFetchResponseGroup(
            group_id=group.group_id, topics=[], error_code=error.code
        )

    if not ctx.may(Operation.DESCRIBE, ResourceType.GROUP, group.group_id):
        return refuse(GroupAuthorizationFailed())
    fetcher = Fetcher(group.group_id, group.member_id, group.member_epoch)
    return ctx.services.groups.fetch(fetcher, wanted, require_stable, answer, refuse)


def _by_topic(
    ctx: RequestContext, found: list[FetchedOffset]
) -> list[OffsetFetchResponseTopics]:
    topics: dict[str, OffsetFetchResponseTopics] = {}
    for name, partition, committed, error_code in found:
        topic = topics.get(name)
        known = ctx.services.metadata.get(name)
        if known is not None and committed.topic_id not in (ZERO_UUID, known.topic_id):
            committed = NOTHING_COMMITTED  # of a deleted topic of this name
        if topic is None:
            topic_id = bytes(16) if known is None else known.topic_id
            topic = OffsetFetchResponseTopics(
                name=name, topic_id=topic_id, partitions=[]
            )
            if known is None and ctx.api_version >= FIRST_VERSION_WITH_TOPIC_IDS:
                continue  # deleted: it has no id by which to call it
            topics[name] = topic
        topic.partitions.append(
            OffsetFetchResponsePartitions(
                partition_index=partition,
                committed_offset=committed.offset,
                committed_leader_epoch=committed.leader_epoch,
                metadata=committed.metadata,
                error_code=error_code,
            )
        )
    return list(topics.values())


def _unknown(
    topic: OffsetFetchRequestTopics, error_code: int
) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetFetchResponsePartitions(
                partition_index=number,
                committed_offset=NO_OFFSET,
                error_code=error_code,
            )
            for number in topic.partition_indexes
        ],
    )


def _of_one(
    api_version: int,
    asked: OffsetFetchRequestGroup,
    groups: list[OffsetFetchResponseGroup],
) -> OffsetFetchResponse:
    """The answer as it was before groups came in numbers.

    Version 1 has no code of its own: the partitions have it then.
    """
    (group,) = groups
    topics = group.topics
    if group.error_code and api_version < 2:
        topics = [_refused(each, group.error_code) for each in asked.topics or []]
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=each.partition_index,
                        committed_offset=each.committed_offset,
                        committed_leader_epoch=each.committed_leader_epoch,
                        metadata=each.metadata,
                        error_code=each.error_code,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in topics
        ],
        error_code=group.error_code,
    )


def _refused(
    topic: OffsetFetchRequestTopics, error_code: int
) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        name=topic.name,
        partitions=[
            OffsetFetchResponsePartitions(
                partition_index=number,
                committed_offset=NO_OFFSET,
                error_code=error_code,
            )
            for number in topic.partition_indexes
        ],
    )


@answers_errors(OffsetFetchRequest)
def refuse_offset_fetch(
    request: OffsetFetchRequest, error: KafkaError
) -> OffsetFetchResponse:
    """The code for the whole, and for each group."""
    return OffsetFetchResponse(
        error_code=error.code,
        groups=[
            OffsetFetchResponseGroup(
                group_id=each.group_id, topics=[], error_code=error.code
            )
            for each in request.groups
        ],
    )

"""DescribeTopicPartitions 0: topics in pages (KIP-966).

A page ends after so many partitions as client and broker allow, in the middle of a
topic if need be; the cursor says where the next one begins. Topics come by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.handlers.authorized_operations import ALL_ON_TOPIC
from odradek.broker.metadata.topic_names import INTERNAL_TOPICS, check_name
from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import ErrorCode, InvalidRequest, KafkaError
from odradek.protocol.messages.metadata import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

from .metadata import mark_offline, place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.broker.metadata.topics import PartitionInfo, Topic
    from odradek.broker.requests.context import RequestContext

_SEEN = Operation.DESCRIBE, ResourceType.TOPIC


@handles(
    DescribeTopicPartitionsRequest,
    versions=(0, 0),
    needs=needs.inside(needs.topic(Operation.DESCRIBE)),
)
def handle_describe_topic_partitions(
    ctx: RequestContext, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    """Describe one page of the topics asked for, or of all."""
    cursor = request.cursor
    if cursor is not None and cursor.partition_index < 0:
        raise InvalidRequest("The partition of a cursor cannot be negative")
    topics = ctx.services.metadata
    names = sorted({topic.name for topic in request.topics})
    denied: list[str] = []
    if not names:
        names = sorted(topic.name for topic in topics if ctx.sees(*_SEEN, topic.name))
    elif ctx.services.authorizer is not None:
        asked = [name for name, _ in _from_cursor(names, cursor)]
        denied = [name for name in asked if not ctx.may(*_SEEN, name)]
        names = [name for name in names if name not in denied]
    limit = ctx.services.config.max_request_partition_size_limit
    remaining = max(min(request.response_partition_limit, limit), 1)
    described: list[DescribeTopicPartitionsResponseTopic] = []
    for name, begin in _from_cursor(names, cursor):
        if remaining <= 0:
            return _page(
                described, Cursor(topic_name=name, partition_index=begin), denied
            )
        topic = topics.get(name)
        if topic is None:
            described.append(_missing(ctx, name))
            continue
        end = begin + remaining
        found = _describe(ctx, topic, topic.partitions[begin:end])
        if ctx.services.cluster is not None:
            place(ctx.services.cluster, topic, found.partitions)
        if topics.offline:
            mark_offline(ctx, name, found.partitions)
        described.append(found)
        if end < len(topic.partitions):
            return _page(
                described, Cursor(topic_name=name, partition_index=end), denied
            )
        remaining = end - len(topic.partitions)
    return _page(described, None, denied)


@answers_errors(DescribeTopicPartitionsRequest)
def refuse_describe_topic_partitions(
    request: DescribeTopicPartitionsRequest, error: KafkaError
) -> DescribeTopicPartitionsResponse:
    """The error at every topic that was asked for."""
    return _page(
        [
            DescribeTopicPartitionsResponseTopic(error_code=error.code, name=topic.name)
            for topic in request.topics
        ],
        None,
    )


def _from_cursor(
    names: Iterable[str], cursor: Cursor | None
) -> Iterable[tuple[str, int]]:
    """The names from the cursor on, each with its first partition to show."""
    for name in names:
        if cursor is None or name > cursor.topic_name:
            yield name, 0
        elif name == cursor.topic_name:
            yield name, cursor.partition_index


def _describe(
    ctx: RequestContext, topic: Topic, partitions: Iterable[PartitionInfo]
) -> DescribeTopicPartitionsResponseTopic:
    node_id = ctx.services.node_id
    replicas = [node_id]
    none: list[int] = []
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[
            DescribeTopicPartitionsResponsePartition(
                partition_index=info.partition,
                leader_id=node_id,
                leader_epoch=info.leader_epoch,
                replica_nodes=replicas,
                isr_nodes=replicas,
                eligible_leader_replicas=none,
                last_known_elr=none,
                offline_replicas=none,
            )
            for info in partitions
        ],
        topic_authorized_operations=ctx.operations(
            ResourceType.TOPIC, topic.name, ALL_ON_TOPIC
        ),
    )


def _missing(ctx: RequestContext, name: str) -> DescribeTopicPartitionsResponseTopic:
    """What may be done is told all the same, as in Apache Kafka."""
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        check_name(name)
    except KafkaError as error:
        code = error.code
    return DescribeTopicPartitionsResponseTopic(
        error_code=code,
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=ctx.operations(
            ResourceType.TOPIC, name, ALL_ON_TOPIC
        ),
    )


def _page(
    topics: list[DescribeTopicPartitionsResponseTopic],
    cursor: Cursor | None,
    denied: Iterable[str] = (),
) -> DescribeTopicPartitionsResponse:
    """A page; those that the client may not see come last, as in Apache Kafka."""
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    topics += [
        DescribeTopicPartitionsResponseTopic(error_code=code, name=name)
        for name in denied
    ]
    return DescribeTopicPartitionsResponse(topics=topics, next_cursor=cursor)

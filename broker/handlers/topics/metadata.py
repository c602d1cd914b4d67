"""Metadata 0-13: the broker's address, and the topics with their leaders.

A topic that is not there is made before the answer, where broker and request allow
it: the client needs not ask again (Apache Kafka answers UNKNOWN_TOPIC_OR_PARTITION
first). From version 10 on topics have ids, which can be asked for from version 12. A
request with ids is one by ids alone, as in Apache Kafka: what names stand in it, beside
an id or without, counts for nothing.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from odradek.broker.handlers.authorized_operations import (
    ALL_ON_TOPIC,
    cluster_operations,
)
from odradek.broker.metadata.auto_create import new_topic
from odradek.broker.metadata.topic_names import INTERNAL_TOPICS, check_name
from odradek.broker.requests import needs
from odradek.broker.requests.audit import note_auto_created
from odradek.broker.requests.registry import answers_errors, handles
from odradek.broker.runtime.logs import counted
from odradek.protocol.acls import CLUSTER_NAME, Operation, ResourceType
from odradek.protocol.errors import (
    ErrorCode,
    InvalidRequest,
    InvalidTopic,
    KafkaError,
    TopicAuthorizationFailed,
    UnknownServerError,
)
from odradek.protocol.messages.metadata import (
    OPERATIONS_NOT_ASKED,
    DescribeTopicPartitionsResponsePartition,
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable

    from odradek.broker.cluster.view import ClusterView
    from odradek.broker.metadata.topics import NewTopic, Topic
    from odradek.broker.requests.context import RequestContext
    from odradek.protocol.messages.metadata import MetadataRequestTopic

_logger = logging.getLogger(__name__)

FIRST_VERSION_WITH_NO_TOPICS = 1  # before it, an empty list meant all of them
FIRST_VERSION_BY_ID = 12
NO_LEADER = -1
_Reasons = dict[str, KafkaError]
_SEEN = Operation.DESCRIBE, ResourceType.TOPIC


@handles(
    MetadataRequest,
    versions=(0, 13),
    needs=needs.inside(
        needs.topic(Operation.DESCRIBE),
        needs.topic(Operation.CREATE),
        needs.cluster(Operation.CREATE),
    ),
)
def handle_metadata(
    ctx: RequestContext, request: MetadataRequest
) -> MetadataResponse | Coroutine[None, None, MetadataResponse]:
    """Describe the topics asked for; a coroutine when some must be made first."""
    topics = request.topics
    if topics is None or (
        not topics and ctx.api_version < FIRST_VERSION_WITH_NO_TOPICS
    ):
        every = [
            _describe(ctx, request, topic)
            for topic in ctx.services.metadata
            if ctx.sees(*_SEEN, topic.name)
        ]
        return _answer(ctx, request, every)
    _check_ids(ctx.api_version, topics)
    ids = dict.fromkeys(bytes(topic.topic_id) for topic in topics)
    ids.pop(ZERO_UUID, None)
    if ids:
        return _answer(ctx, request, _describe_ids(ctx, request, ids))
    names = list(dict.fromkeys(topic.name or "" for topic in topics))
    reasons: _Reasons = {}
    if ctx.services.authorizer is not None:
        reasons = {
            name: TopicAuthorizationFailed()
            for name in names
            if not ctx.may(*_SEEN, name)
        }
    missing = [
        name
        for name in names
        if name not in reasons and ctx.services.metadata.get(name) is None
    ]
    if missing and _may_create(ctx, request):
        return _create_and_answer(ctx, request, names, missing, reasons)
    return _answer(ctx, request, _describe_names(ctx, request, names, reasons))


@answers_errors(MetadataRequest)
def refuse_metadata(request: MetadataRequest, error: KafkaError) -> MetadataResponse:
    """The error at every topic that was asked for."""
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(
                error_code=error.code, name=topic.name or "", topic_id=topic.topic_id
            )
            for topic in request.topics or ()
        ],
        error_code=error.code,
    )


def _check_ids(version: int, asked: Iterable[MetadataRequestTopic]) -> None:
    for topic in asked:
        if version < FIRST_VERSION_BY_ID:
            if topic.name is None:
                raise InvalidRequest("A topic name is needed below version 12")
            if topic.topic_id != ZERO_UUID:
                raise InvalidRequest("Topic ids can be asked for from version 12 on")
        elif topic.name is None and topic.topic_id == ZERO_UUID:
            raise UnknownServerError("A topic needs a name or an id")


def _may_create(ctx: RequestContext, request: MetadataRequest) -> bool:
    return (
        request.allow_auto_topic_creation
        and ctx.services.config.auto_create_topics_enable
    )


async def _create_and_answer(
    ctx: RequestContext,
    request: MetadataRequest,
    names: list[str],
    missing: list[str],
    reasons: _Reasons,
) -> MetadataResponse:
    may_create_all = ctx.sees(Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME)
    wanted: list[NewTopic] = []
    for name in missing[: ctx.services.config.create_topics_max_partitions]:
        try:
            if not may_create_all:
                ctx.require(Operation.CREATE, ResourceType.TOPIC, name)
            wanted.append(new_topic(name, ctx.services.config))
        except TopicAuthorizationFailed as error:
            reasons[name] = error
        except InvalidTopic as error:
            reasons[name] = error
    results = await ctx.services.metadata.create_topics(wanted)
    for new, result in zip(wanted, results, strict=True):
        if isinstance(result, KafkaError):
            # The answer has no place for the reason.
            _logger.info("topic %s is not made: %s", new.name, result)
            reasons[new.name] = result
    made = [
        new
        for new, result in zip(wanted, results, strict=True)
        if not isinstance(result, KafkaError)
    ]
    if made:
        _tell_made(ctx, made)
    return _answer(ctx, request, _describe_names(ctx, request, names, reasons))


def _tell_made(ctx: RequestContext, made: list[NewTopic]) -> None:
    note_auto_created(ctx, made)
    for new in made:
        _logger.info(
            "topic %s is made with %s: %s asked for it, and"
            " auto.create.topics.enable is on",
            new.name,
            counted(new.partition_count, "partition"),
            ctx.client,
        )


def _describe_ids(
    ctx: RequestContext, request: MetadataRequest, ids: Iterable[bytes]
) -> list[MetadataResponseTopic]:
    described = []
    for topic_id in ids:
        found = ctx.services.metadata.by_id(topic_id)
        code = ErrorCode.UNKNOWN_TOPIC_ID
        if found is not None:
            if ctx.may(*_SEEN, found.name):
                described.append(_describe(ctx, request, found))
                continue
            code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        described.append(
            MetadataResponseTopic(error_code=code, name=None, topic_id=topic_id)
        )
    return described


def _describe_names(
    ctx: RequestContext,
    request: MetadataRequest,
    names: Iterable[str],
    reasons: _Reasons,
) -> list[MetadataResponseTopic]:
    described = []
    for name in names:
        found = ctx.services.metadata.get(name)
        if isinstance(reasons.get(name), TopicAuthorizationFailed):
            code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            described.append(MetadataResponseTopic(error_code=code, name=name))
        elif found is not None:
            described.append(_describe(ctx, request, found))
        else:
            described.append(_missing(ctx, request, name, reasons))
    return described


def _missing(
    ctx: RequestContext, request: MetadataRequest, name: str, reasons: _Reasons
) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=_why_missing(name, reasons),
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=_topic_operations(ctx, request, name),
    )


def _why_missing(name: str, reasons: _Reasons) -> ErrorCode:
    reason = reasons.get(name)
    if reason is not None and reason.code != ErrorCode.TOPIC_ALREADY_EXISTS:
        return reason.code
    try:
        check_name(name)
    except InvalidTopic as error:
        return error.code
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _describe(
    ctx: RequestContext, request: MetadataRequest, topic: Topic
) -> MetadataResponseTopic:
    """One topic with its partitions, led by this broker unless they are offline."""
    # Nobody changes the lists: one for all partitions.
    replicas = [ctx.services.node_id]
    none: list[int] = []
    described = MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[
            MetadataResponsePartition(
                partition_index=info.partition,
                leader_id=ctx.services.node_id,
                leader_epoch=info.leader_epoch,
                replica_nodes=replicas,
                isr_nodes=replicas,
                offline_replicas=none,
            )
            for info in topic.partitions
        ],
        topic_authorized_operations=_topic_operations(ctx, request, topic.name),
    )
    if ctx.services.cluster is not None:
        place(ctx.services.cluster, topic, described.partitions)
    if ctx.services.metadata.offline:
        mark_offline(ctx, topic.name, described.partitions)
    return described


def place(
    cluster: ClusterView,
    topic: Topic,
    described: Iterable[
        MetadataResponsePartition | DescribeTopicPartitionsResponsePartition
    ],
) -> None:
    """Say of partitions who has them, in a cluster of several brokers."""
    for partition in described:
        found = cluster.placed(topic.topic_id, partition.partition_index)
        if found is None:
            partition.leader_id = NO_LEADER
            partition.error_code = ErrorCode.LEADER_NOT_AVAILABLE
            continue
        partition.leader_id, partition.leader_epoch = found.leader, found.leader_epoch
        partition.replica_nodes, partition.isr_nodes = found.replicas, found.isr
        partition.offline_replicas = found.offline
        if isinstance(partition, DescribeTopicPartitionsResponsePartition):
            partition.eligible_leader_replicas = found.elr
            partition.last_known_elr = found.last_known_elr
        if found.leader == NO_LEADER:
            partition.error_code = ErrorCode.LEADER_NOT_AVAILABLE


def mark_offline(
    ctx: RequestContext,
    name: str,
    described: Iterable[
        MetadataResponsePartition | DescribeTopicPartitionsResponsePartition
    ],
) -> None:
    """Say of those partitions that have no files that nobody leads them."""
    for partition in described:
        place = TopicPartition(name, partition.partition_index)
        if place in ctx.services.metadata.offline:
            partition.error_code = ErrorCode.LEADER_NOT_AVAILABLE
            partition.leader_id = NO_LEADER
            partition.offline_replicas = partition.replica_nodes


def _topic_operations(ctx: RequestContext, request: MetadataRequest, name: str) -> int:
    if request.include_topic_authorized_operations:
        return ctx.operations(ResourceType.TOPIC, name, ALL_ON_TOPIC)
    return OPERATIONS_NOT_ASKED


def _answer(
    ctx: RequestContext, request: MetadataRequest, topics: list[MetadataResponseTopic]
) -> MetadataResponse:
    services = ctx.services
    operations = OPERATIONS_NOT_ASKED
    if request.include_cluster_authorized_operations:
        operations = cluster_operations(ctx)
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=node_id, host=host, port=port, rack=rack)
            for node_id, host, port, rack in ctx.known_brokers()
        ],
        cluster_id=services.cluster_id,
        controller_id=services.node_id,
        topics=topics,
        cluster_authorized_operations=operations,
    )

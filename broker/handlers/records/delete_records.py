"""DeleteRecords 0-2: let partitions begin later (KIP-107)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.replica.record_deletion import HIGH_WATERMARK
from odradek.broker.replica.waiting.delayed_delete_records import DeleteRecordsResult
from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import TopicAuthorizationFailed
from odradek.protocol.messages.topics import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from odradek.broker.replica.replica_manager import ReplicaManager
    from odradek.broker.replica.waiting.visible_end import Hidden
    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.registry import Answer
    from odradek.protocol.errors import KafkaError

_Offsets = dict[TopicPartition, int]


@handles(
    DeleteRecordsRequest,
    versions=(0, 2),
    needs=needs.inside(needs.topic(Operation.DELETE)),
)
def handle_delete_records(ctx: RequestContext, request: DeleteRecordsRequest) -> Answer:
    """Forget the records below the offsets; answered when no crash brings them back.

    Of a partition that is named twice, the last offset counts. Records that were
    written and are not visible yet are waited for, and then forgotten like others.
    """
    offsets = _offsets(request)
    replica_manager = ctx.services.replica_manager
    if ctx.services.authorizer is not None:
        denied = {
            topic.name
            for topic in request.topics
            if not ctx.may(Operation.DELETE, ResourceType.TOPIC, topic.name)
        }
        if denied:
            return _delete_allowed(ctx, request, denied)
    hidden = replica_manager.visible_ends.hidden(offsets)
    if replica_manager.unopened(offsets) or _wanted(offsets, hidden):
        return _delete_when_ready(replica_manager, offsets, request.timeout_ms)
    return replica_manager.delete_records(offsets, request.timeout_ms, _respond)


async def _delete_allowed(
    ctx: RequestContext, request: DeleteRecordsRequest, denied: set[str]
) -> DeleteRecordsResponse:
    """The answer where some of the topics are not the client's."""
    allowed = {
        key: offset
        for key, offset in _offsets(request).items()
        if key.topic not in denied
    }
    response = DeleteRecordsResponse()
    if allowed:
        response = await _delete_when_ready(
            ctx.services.replica_manager, allowed, request.timeout_ms
        )
    refused = [each for each in request.topics if each.name in denied]
    error = TopicAuthorizationFailed()
    response.topics += refuse_delete_records(
        DeleteRecordsRequest(topics=refused), error
    ).topics
    return response


async def _delete_when_ready(
    replica_manager: ReplicaManager, offsets: _Offsets, timeout_ms: int
) -> DeleteRecordsResponse:
    await replica_manager.open(offsets)
    visible_ends = replica_manager.visible_ends
    hidden = _wanted(offsets, visible_ends.hidden(offsets))
    refused = {}
    if hidden:
        for key, seen in (await visible_ends.wait(hidden)).items():
            if seen.error_code:
                refused[key] = DeleteRecordsResult(seen.error_code)
    answer = replica_manager.delete_records(
        {key: offset for key, offset in offsets.items() if key not in refused},
        timeout_ms,
        lambda results: _respond({**results, **refused}),
    )
    response: DeleteRecordsResponse = (
        await answer if hasattr(answer, "__await__") else answer
    )
    return response


def _wanted(offsets: _Offsets, hidden: Hidden) -> Hidden:
    """Those whose records above the high watermark are to be forgotten, too."""
    return {
        key: each
        for key, each in hidden.items()
        if offsets[key] == HIGH_WATERMARK
        or each.partition.view.high_watermark < offsets[key] <= each.offset
    }


def _offsets(request: DeleteRecordsRequest) -> _Offsets:
    return {
        TopicPartition(topic.name, each.partition_index): each.offset
        for topic in request.topics
        for each in topic.partitions
    }


def _respond(
    results: Mapping[TopicPartition, DeleteRecordsResult],
) -> DeleteRecordsResponse:
    return _response(
        results,
        lambda key: DeleteRecordsPartitionResult(
            partition_index=key.partition,
            low_watermark=results[key].low_watermark,
            error_code=results[key].error_code,
        ),
    )


@answers_errors(DeleteRecordsRequest)
def refuse_delete_records(
    request: DeleteRecordsRequest, error: KafkaError
) -> DeleteRecordsResponse:
    """The same error for every partition."""
    return _response(
        _offsets(request),
        lambda key: DeleteRecordsPartitionResult(
            partition_index=key.partition, low_watermark=-1, error_code=error.code
        ),
    )


def _response(
    keys: Mapping[TopicPartition, object],
    result_of: Callable[[TopicPartition], DeleteRecordsPartitionResult],
) -> DeleteRecordsResponse:
    topics: dict[str, list[DeleteRecordsPartitionResult]] = {}
    for key in keys:
        topics.setdefault(key.topic, []).append(result_of(key))
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(name=name, partitions=partitions)
            for name, partitions in topics.items()
        ]
    )

"""DeleteTopics 1-6: by name, from version 6 on by name or by id (KIP-516)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from odradek.broker.handlers.topics.topic_deletion import delete_topics
from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.protocol.acls import CLUSTER_NAME, Operation, ResourceType
from odradek.protocol.errors import (
    InvalidRequest,
    KafkaError,
    TopicAuthorizationFailed,
    TopicDeletionDisabled,
    UnknownTopicId,
)
from odradek.protocol.messages.topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from odradek.protocol.uuids import ZERO_UUID, to_text

if TYPE_CHECKING:
    from odradek.broker.metadata.topics import Topic, Topics
    from odradek.broker.requests.context import RequestContext

FIRST_VERSION_WITH_DISABLED = 3
_Key = tuple[str | None, bytes]  # a name, or an id, or (wrongly) both


@handles(
    DeleteTopicsRequest,
    versions=(1, 6),
    needs=needs.inside(
        needs.topic(Operation.DELETE),
        needs.topic(Operation.DESCRIBE),
        needs.cluster(Operation.DELETE),
    ),
)
async def handle_delete_topics(
    ctx: RequestContext, request: DeleteTopicsRequest
) -> DeleteTopicsResponse:
    """Delete topics; when the answer leaves nobody can see them any more."""
    if not ctx.services.config.delete_topic_enable:
        raise _disabled(ctx.api_version)
    counts = Counter(map(_key, _states(request)))
    results: dict[_Key, DeletableTopicResult] = {}
    chosen: dict[bytes, _Key] = {}
    for key, count in counts.items():
        try:
            if count > 1:
                raise InvalidRequest(f"Duplicate topic {'id' if key[1] else 'name'}.")
            if key[0] is not None and not key[1]:
                _check_visible(ctx, key[0])
            topic = _find(ctx.services.metadata, *key)
            if not _may_delete(ctx, topic.name):
                results[key] = _denied(ctx, topic, key)
                continue
            ctx.services.metadata.check_not_mirrored(topic.name)
        except KafkaError as error:
            results[key] = _refused(*key, error)
            continue
        of_name, of_id = (topic.name, b""), (None, topic.topic_id)
        if counts[of_name] == 1 and counts[of_id]:  # one answer, to both
            results[of_name] = _refused(topic.name, topic.topic_id, _asked_twice())
            continue
        chosen[topic.topic_id] = key
        results[key] = DeletableTopicResult(name=topic.name, topic_id=topic.topic_id)
    if chosen:
        try:
            await delete_topics(ctx.services, chosen)
        except KafkaError as error:
            results |= {key: _refused(*key, error) for key in chosen.values()}
    return DeleteTopicsResponse(responses=list(results.values()))


@answers_errors(DeleteTopicsRequest)
def refuse_delete_topics(
    request: DeleteTopicsRequest, error: KafkaError
) -> DeleteTopicsResponse:
    """The error at every topic."""
    return DeleteTopicsResponse(
        responses=[_refused(*_key(state), error) for state in _states(request)]
    )


def _disabled(version: int) -> KafkaError:
    message = "Topic deletion is disabled: delete.topic.enable is false"
    if version < FIRST_VERSION_WITH_DISABLED:
        return InvalidRequest(message)
    return TopicDeletionDisabled(message)


def _asked_twice() -> KafkaError:
    return InvalidRequest(
        "The provided topic name maps to an ID that was already supplied."
    )


def _states(request: DeleteTopicsRequest) -> list[DeleteTopicState]:
    """What is to be deleted; before version 6 there are only names."""
    return request.topics or [
        DeleteTopicState(name=name) for name in request.topic_names
    ]


def _key(state: DeleteTopicState) -> _Key:
    topic_id = bytes(state.topic_id)
    return state.name, b"" if topic_id == ZERO_UUID else topic_id


def _find(topics: Topics, name: str | None, topic_id: bytes) -> Topic:
    if name is None and not topic_id:
        raise InvalidRequest("Neither topic name nor id were specified.")
    if name is not None and topic_id:
        raise InvalidRequest("You may not specify both topic name and topic id.")
    if name is None:
        found = topics.by_id(topic_id)
        if found is None:
            raise UnknownTopicId(f"No topic has the id {to_text(topic_id)}.")
        return found
    return topics.known(name)


def _may_delete(ctx: RequestContext, name: str) -> bool:
    return _may_delete_all(ctx) or ctx.may(Operation.DELETE, ResourceType.TOPIC, name)


def _may_delete_all(ctx: RequestContext) -> bool:
    return ctx.sees(Operation.DELETE, ResourceType.CLUSTER, CLUSTER_NAME)


def _check_visible(ctx: RequestContext, name: str) -> None:
    """Who may not see a topic does not hear whether it is there."""
    if not _may_delete_all(ctx):
        ctx.require(Operation.DESCRIBE, ResourceType.TOPIC, name)


def _denied(ctx: RequestContext, topic: Topic, key: _Key) -> DeletableTopicResult:
    """No more than who asks has said or may see: of an id the name, or nothing."""
    if key[0] is not None:
        return _refused(*key, TopicAuthorizationFailed())
    is_seen = ctx.sees(Operation.DESCRIBE, ResourceType.TOPIC, topic.name)
    name = topic.name if is_seen else None
    return _refused(name, topic.topic_id, TopicAuthorizationFailed())


def _refused(
    name: str | None, topic_id: bytes, error: KafkaError
) -> DeletableTopicResult:
    return DeletableTopicResult(
        name=name,
        topic_id=topic_id or ZERO_UUID,
        error_code=error.code,
        error_message=str(error),
    )

"""Initialize-, Read-, Write-, DeleteShareGroupState 0-1 and ReadShareGroupStateSummary.

The leaders of partitions send these to the share coordinator, where that is another
broker of their cluster; a broker alone need not ask itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.coordinator.share.decisions import check_partition
from odradek.broker.coordinator.share.state import (
    NO_COUNT,
    NO_START,
    ShareKey,
    StateBatch,
    StateSummary,
    StateUpdate,
    StoredState,
)
from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.broker.runtime.parked import gathered
from odradek.protocol.acls import Operation
from odradek.protocol.errors import ErrorCode, InvalidRequest, KafkaError
from odradek.protocol.messages.share_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
    SharePartitionState,
    SharePartitionSummary,
    ShareStateBatch,
    ShareStatePartitionResult,
    ShareStateResult,
    ShareTopicState,
    ShareTopicSummary,
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.registry import Answer
    from odradek.protocol.schema import Response, Struct

    _Request = (
        InitializeShareGroupStateRequest
        | ReadShareGroupStateRequest
        | WriteShareGroupStateRequest
        | DeleteShareGroupStateRequest
        | ReadShareGroupStateSummaryRequest
    )

_OF_BROKERS = needs.before(needs.cluster(Operation.CLUSTER_ACTION))


class _Asked(NamedTuple):
    """What is asked of one share partition; ``fields`` are those of the request."""

    key: ShareKey
    fields: Any


class _Shape(NamedTuple):
    """How an answer looks: ``tell`` makes the part of a share partition."""

    response_class: Callable[..., Response]
    topic_class: Callable[..., Struct]
    tell: Callable[[int, Any], Struct]


@handles(InitializeShareGroupStateRequest, versions=(0, 0), needs=_OF_BROKERS)
def handle_initialize_share_group_state(
    ctx: RequestContext, request: InitializeShareGroupStateRequest
) -> Answer:
    """Let share partitions begin where it is said, each by its epoch."""
    states = ctx.services.share_states

    def ask(asked: _Asked) -> Any:
        key, fields = asked
        if fields.start_offset < NO_START:
            raise InvalidRequest(f"{fields.start_offset} is no offset to begin at")
        starts = {key: fields.start_offset}
        return states.initialise(starts, fields.state_epoch, lambda found: found[key])

    return _answer(request, ask)


@handles(ReadShareGroupStateRequest, versions=(0, 0), needs=_OF_BROKERS)
def handle_read_share_group_state(
    ctx: RequestContext, request: ReadShareGroupStateRequest
) -> Answer:
    """Tell all that is known of share partitions."""
    states = ctx.services.share_states

    def ask(asked: _Asked) -> Any:
        return states.read(asked.key, asked.fields.leader_epoch)

    return _answer(request, ask)


@handles(WriteShareGroupStateRequest, versions=(0, 1), needs=_OF_BROKERS)
def handle_write_share_group_state(
    ctx: RequestContext, request: WriteShareGroupStateRequest
) -> Answer:
    """Keep what has changed in share partitions."""
    states = ctx.services.share_states

    def ask(asked: _Asked) -> Any:
        key, fields = asked
        batches = tuple(
            StateBatch(
                each.first_offset,
                each.last_offset,
                each.delivery_state,
                each.delivery_count,
            )
            for each in fields.state_batches
        )
        update = StateUpdate(
            fields.state_epoch,
            fields.leader_epoch,
            fields.start_offset,
            batches,
            fields.delivery_complete_count,
        )
        return states.write(key, update)

    return _answer(request, ask)


@handles(DeleteShareGroupStateRequest, versions=(0, 0), needs=_OF_BROKERS)
def handle_delete_share_group_state(
    ctx: RequestContext, request: DeleteShareGroupStateRequest
) -> Answer:
    """Forget share partitions."""
    states, topics = ctx.services.share_states, ctx.services.metadata

    def ask(asked: _Asked) -> Any:
        check_partition(topics, asked.key)
        return states.delete([asked.key], lambda found: found[asked.key])

    return _answer(request, ask)


@handles(ReadShareGroupStateSummaryRequest, versions=(0, 1), needs=_OF_BROKERS)
def handle_read_share_group_state_summary(
    ctx: RequestContext, request: ReadShareGroupStateSummaryRequest
) -> Answer:
    """Tell where share partitions are."""
    states, topics = ctx.services.share_states, ctx.services.metadata

    def ask(asked: _Asked) -> Any:
        check_partition(topics, asked.key)
        return states.summarise([asked.key], lambda found: found[asked.key])

    return _answer(request, ask)


# What they have in common: one question for each share partition


def _answer(request: _Request, ask: Callable[[_Asked], Any]) -> Answer:
    """What is asked about each share partition.

    A group without a name has none: the answer is empty, as in Apache Kafka.
    """
    response_class, topic_class, tell = _SHAPES[type(request)]
    topics: Sequence[Any] = request.topics if request.group_id else ()
    asked = [
        _Asked(ShareKey(request.group_id, topic.topic_id, each.partition), each)
        for topic in topics
        for each in topic.partitions
    ]

    def finish(found: list[Any]) -> Response:
        told = iter(
            [
                tell(each.key.partition, what)
                for each, what in zip(asked, found, strict=True)
            ]
        )
        results = [
            topic_class(
                topic_id=topic.topic_id,
                partitions=[next(told) for _ in topic.partitions],
            )
            for topic in topics
        ]
        return response_class(results=results)

    return gathered([_ask(each, ask) for each in asked], finish)


def _ask(asked: _Asked, ask: Callable[[_Asked], Any]) -> Any:
    try:
        if asked.key.partition < 0:
            raise InvalidRequest(f"{asked.key.partition} is no partition")
        return ask(asked)
    except KafkaError as error:
        return error.as_value()


@answers_errors(InitializeShareGroupStateRequest)
@answers_errors(ReadShareGroupStateRequest)
@answers_errors(WriteShareGroupStateRequest)
@answers_errors(DeleteShareGroupStateRequest)
@answers_errors(ReadShareGroupStateSummaryRequest)
def refuse_share_group_state(request: _Request, error: KafkaError) -> Any:
    """The same for each share partition: the response has no place of its own."""
    return _answer(request, lambda _: error)


def _outcome(partition: int, error: KafkaError | None) -> ShareStatePartitionResult:
    if error is None:
        return ShareStatePartitionResult(partition=partition, error_code=ErrorCode.NONE)
    return ShareStatePartitionResult(
        partition=partition, error_code=error.code, error_message=str(error)
    )


def _state(partition: int, found: StoredState | KafkaError) -> SharePartitionState:
    if isinstance(found, KafkaError):
        return SharePartitionState(
            partition=partition,
            error_code=found.code,
            error_message=str(found),
            start_offset=NO_START,
        )
    return SharePartitionState(
        partition=partition,
        state_epoch=found.state_epoch,
        start_offset=found.start,
        state_batches=[
            ShareStateBatch(
                first_offset=first,
                last_offset=last,
                delivery_state=state,
                delivery_count=count,
            )
            for first, last, state, count in found.batches
        ],
    )


def _summary(partition: int, found: StateSummary | KafkaError) -> SharePartitionSummary:
    if isinstance(found, KafkaError):
        return SharePartitionSummary(
            partition=partition,
            error_code=found.code,
            error_message=str(found),
            start_offset=NO_START,
            delivery_complete_count=NO_COUNT,
        )
    return SharePartitionSummary(
        partition=partition,
        state_epoch=found.state_epoch,
        leader_epoch=found.leader_epoch,
        start_offset=found.start,
        delivery_complete_count=found.complete_count,
    )


_SHAPES: dict[type, _Shape] = {
    InitializeShareGroupStateRequest: _Shape(
        InitializeShareGroupStateResponse, ShareStateResult, _outcome
    ),
    ReadShareGroupStateRequest: _Shape(
        ReadShareGroupStateResponse, ShareTopicState, _state
    ),
    WriteShareGroupStateRequest: _Shape(
        WriteShareGroupStateResponse, ShareStateResult, _outcome
    ),
    DeleteShareGroupStateRequest: _Shape(
        DeleteShareGroupStateResponse, ShareStateResult, _outcome
    ),
    ReadShareGroupStateSummaryRequest: _Shape(
        ReadShareGroupStateSummaryResponse, ShareTopicSummary, _summary
    ),
}

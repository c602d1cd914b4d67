"""Initialize-, Read-, Write-, DeleteShareGroupState and ReadShareGroupStateSummary.

What this broker asks of share coordinators at other brokers: one request for what is
asked about one group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from odradek.broker.coordinator.share.questions import (
    DeleteState,
    InitialiseState,
    ReadState,
    SummariseState,
    WriteState,
)
from odradek.broker.coordinator.share.state import (
    NO_COUNT,
    NO_EPOCH,
    StateBatch,
    StateSummary,
    StoredState,
)
from odradek.protocol.errors import KafkaError, NetworkException, error_class
from odradek.protocol.messages import share_state as messages

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from odradek.broker.coordinator.share.questions import StateQuestion
    from odradek.protocol.schema import Request, Response, Struct


class _Shape(NamedTuple):
    """How a question looks; ``put`` fills its part in, ``take`` reads the answer's."""

    name: str
    request_class: Callable[..., Request]
    topic_class: Callable[..., Struct]
    response_class: type[Response]
    put: Callable[[Any], Struct]
    take: Callable[[Any], Any]


class StateQuestions:
    """A `Kind`; the key is topic and partition, as the group is that of the request."""

    # A state may be of thousands of ranges of offsets.
    together_max: Final = 100

    def __init__(self, shape: _Shape) -> None:
        self._shape = shape
        self.name = shape.name
        self.response_class = shape.response_class

    @classmethod
    def of(cls, question: StateQuestion) -> StateQuestions:
        """Questions of its kind."""
        return _KINDS[type(question)]

    @staticmethod
    def key_of(question: StateQuestion) -> Hashable:
        """What tells it apart from others about its group."""
        return question.key[1:]

    def group_of(self, content: StateQuestion) -> Hashable:
        """The share group."""
        return content.key.group_id

    def request(self, contents: list[StateQuestion]) -> Request:
        """All of them, which are about one group, in one request."""
        by_topic: dict[bytes, list[Struct]] = {}
        for each in contents:
            part = self._shape.put(each)
            by_topic.setdefault(each.key.topic_id, []).append(part)
        return self._shape.request_class(
            group_id=contents[0].key.group_id,
            topics=[
                self._shape.topic_class(topic_id=topic_id, partitions=parts)
                for topic_id, parts in by_topic.items()
            ],
        )

    def answers(self, response: Any) -> dict[Hashable, Any]:
        """What was said of each partition; what went wrong as a value."""
        return {
            (topic.topic_id, each.partition): self._answer(each)
            for topic in response.results
            for each in topic.partitions
        }

    def _answer(self, part: Any) -> Any:
        if part.error_code:
            return error_class(part.error_code)(part.error_message or "").as_value()
        return self._shape.take(part)

    def told(self, content: StateQuestion, found: Any | None) -> Any:
        """The answer, without a value where it is done; or that there was none."""
        if found is None:
            return NetworkException()
        if isinstance(content, ReadState) and not isinstance(found, KafkaError):
            return found._replace(leader_epoch=content.leader_epoch)
        return None if found is _DONE else found


_DONE: Final = object()  # None stands for no answer


def _done(_: messages.ShareStatePartitionResult) -> object:
    return _DONE


def _initialise(asked: InitialiseState) -> Struct:
    return messages.ShareStatePartitionToInitialize(
        partition=asked.key.partition,
        state_epoch=asked.state_epoch,
        start_offset=asked.start,
    )


def _read(asked: ReadState) -> Struct:
    return messages.ShareStatePartitionToRead(
        partition=asked.key.partition, leader_epoch=asked.leader_epoch
    )


def _write(asked: WriteState) -> Struct:
    update = asked.update
    count = update.complete_count
    return messages.ShareStatePartitionToWrite(
        partition=asked.key.partition,
        state_epoch=update.state_epoch,
        leader_epoch=update.leader_epoch,
        start_offset=update.start,
        delivery_complete_count=NO_COUNT if count is None else count,
        state_batches=[
            messages.ShareStateBatch(
                first_offset=first,
                last_offset=last,
                delivery_state=state,
                delivery_count=delivery_count,
            )
            for first, last, state, delivery_count in update.batches
        ],
    )


def _summarise(asked: SummariseState) -> Struct:
    return messages.ShareStatePartitionToRead(
        partition=asked.key.partition, leader_epoch=NO_EPOCH
    )


def _delete(asked: DeleteState) -> Struct:
    return messages.ShareStatePartitionToDelete(partition=asked.key.partition)


def _stored(part: messages.SharePartitionState) -> StoredState:
    """Whose it is now and how much is done is not told."""
    return StoredState(
        part.state_epoch,
        NO_EPOCH,
        part.start_offset,
        NO_COUNT,
        tuple(
            StateBatch(
                each.first_offset,
                each.last_offset,
                each.delivery_state,
                each.delivery_count,
            )
            for each in part.state_batches
        ),
    )


def _summary(part: messages.SharePartitionSummary) -> StateSummary:
    return StateSummary(
        part.state_epoch,
        part.leader_epoch,
        part.start_offset,
        part.delivery_complete_count,
    )


_KINDS: Final = {
    InitialiseState: StateQuestions(
        _Shape(
            "new share states",
            messages.InitializeShareGroupStateRequest,
            messages.ShareStateTopicToInitialize,
            messages.InitializeShareGroupStateResponse,
            _initialise,
            _done,
        )
    ),
    ReadState: StateQuestions(
        _Shape(
            "share states",
            messages.ReadShareGroupStateRequest,
            messages.ShareStateTopicToRead,
            messages.ReadShareGroupStateResponse,
            _read,
            _stored,
        )
    ),
    WriteState: StateQuestions(
        _Shape(
            "writes of share states",
            messages.WriteShareGroupStateRequest,
            messages.ShareStateTopicToWrite,
            messages.WriteShareGroupStateResponse,
            _write,
            _done,
        )
    ),
    SummariseState: StateQuestions(
        _Shape(
            "summaries of share states",
            messages.ReadShareGroupStateSummaryRequest,
            messages.ShareStateTopicToRead,
            messages.ReadShareGroupStateSummaryResponse,
            _summarise,
            _summary,
        )
    ),
    DeleteState: StateQuestions(
        _Shape(
            "deletions of share states",
            messages.DeleteShareGroupStateRequest,
            messages.ShareStateTopicToDelete,
            messages.DeleteShareGroupStateResponse,
            _delete,
            _done,
        )
    ),
}

"""DescribeShareGroupOffsets 0-1, AlterShareGroupOffsets, DeleteShareGroupOffsets 0.

Where share groups are in partitions: told, moved, forgotten by administrators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.coordinator.share.state import NO_START, ShareKey, StateSummary
from odradek.broker.metadata.features import SHARE_VERSION
from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.broker.runtime.parked import Parked
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import (
    InvalidGroupId,
    InvalidRequest,
    KafkaError,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
    UnsupportedVersion,
)
from odradek.protocol.messages.share_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import ZERO_UUID

from .share_lag import UNKNOWN_LAG, ends_of, lag_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from odradek.broker.coordinator.share.service import Results
    from odradek.broker.metadata.topic import Topic
    from odradek.broker.requests.context import RequestContext


class _Asked(NamedTuple):
    """Partitions of one topic; ``topic`` None: there is no such one."""

    name: str
    topic: Topic | None
    partitions: list[int]
    error: KafkaError | None = None

    def has(self, number: int) -> bool:
        """Whether there is such a partition."""
        return self.topic is not None and 0 <= number < len(self.topic.partitions)

    def keys(self, group_id: str) -> list[ShareKey]:
        """The share partitions that there can be."""
        if self.topic is None or self.error is not None:
            return []
        topic_id = self.topic.topic_id
        return [
            ShareKey(group_id, topic_id, number)
            for number in self.partitions
            if self.has(number)
        ]

    @property
    def topic_id(self) -> bytes:
        """Its id, or that of none."""
        return ZERO_UUID if self.topic is None else self.topic.topic_id


def _check(ctx: RequestContext, group_id: str, operation: Operation) -> None:
    """See that the client may ask about the group.

    Raises:
        UnsupportedVersion, GroupAuthorizationFailed, InvalidGroupId.
    """
    if ctx.services.features.level_of(SHARE_VERSION) < 1:
        raise UnsupportedVersion(
            "Share groups (KIP-932) are off: set the feature share.version to 1"
        )
    ctx.require(operation, ResourceType.GROUP, group_id)
    if not group_id:
        raise InvalidGroupId


async def _now(answer: Any) -> Any:
    return await answer if isinstance(answer, Parked) else answer


# Describe


@handles(
    DescribeShareGroupOffsetsRequest,
    versions=(0, 1),
    needs=needs.inside(
        needs.group(Operation.DESCRIBE), needs.topic(Operation.DESCRIBE)
    ),
)
async def handle_describe_share_group_offsets(
    ctx: RequestContext, request: DescribeShareGroupOffsetsRequest
) -> DescribeShareGroupOffsetsResponse:
    """Tell where each group begins in partitions, and how much there is to do."""
    return DescribeShareGroupOffsetsResponse(
        groups=[await _described(ctx, each) for each in request.groups]
    )


async def _described(
    ctx: RequestContext, asked: DescribeShareGroupOffsetsRequestGroup
) -> DescribeShareGroupOffsetsResponseGroup:
    group_id = asked.group_id
    try:
        _check(ctx, group_id, Operation.DESCRIBE)
        topics = await _topics(ctx, asked)
    except KafkaError as error:
        return DescribeShareGroupOffsetsResponseGroup(
            group_id=group_id, error_code=error.code, error_message=str(error)
        )
    keys = [key for each in topics for key in each.keys(group_id)]
    found = await _now(ctx.services.share_states_anywhere.summarise(keys, dict))
    ends = await ends_of(ctx, _places(topics))
    return DescribeShareGroupOffsetsResponseGroup(
        group_id=group_id,
        topics=[
            DescribeShareGroupOffsetsResponseTopic(
                topic_name=each.name,
                topic_id=each.topic_id,
                partitions=[
                    _place(ctx, each, number, found, group_id, ends)
                    for number in each.partitions
                ],
            )
            for each in topics
        ],
    )


async def _topics(
    ctx: RequestContext, asked: DescribeShareGroupOffsetsRequestGroup
) -> list[_Asked]:
    """Those that are asked for; by default all that the group has a place in."""
    topics = ctx.services.metadata
    if asked.topics is None:
        groups = ctx.services.groups.shares
        states = await _now(groups.states(asked.group_id, KafkaError.as_value))
        if isinstance(states, KafkaError):
            raise states
        return [
            _Asked(each.name, topics.by_id(topic_id), sorted(each.partitions))
            for topic_id, each in states.initialized.items()
            if topics.by_id(topic_id) is not None
            and ctx.sees(Operation.DESCRIBE, ResourceType.TOPIC, each.name)
        ]
    return [
        _asked(ctx, each.topic_name, list(each.partitions), Operation.DESCRIBE)
        for each in asked.topics
    ]


def _asked(
    ctx: RequestContext, name: str, partitions: list[int], operation: Operation
) -> _Asked:
    if not ctx.may(operation, ResourceType.TOPIC, name):
        return _Asked(name, None, partitions, TopicAuthorizationFailed())
    return _Asked(name, ctx.services.metadata.get(name), partitions)


def _places(topics: Iterable[_Asked]) -> list[TopicPartition]:
    return [
        TopicPartition(each.name, number)
        for each in topics
        for number in each.partitions
        if each.has(number)
    ]


def _place(
    ctx: RequestContext,
    asked: _Asked,
    number: int,
    found: dict[ShareKey, StateSummary | KafkaError],
    group_id: str,
    ends: Mapping[TopicPartition, int],
) -> DescribeShareGroupOffsetsResponsePartition:
    summary: StateSummary | KafkaError = StateSummary()
    if asked.error is not None:
        summary = asked.error
    elif asked.topic is not None and not asked.has(number):
        summary = UnknownTopicOrPartition()
    elif asked.topic is not None:
        summary = found[ShareKey(group_id, asked.topic.topic_id, number)]
    if isinstance(summary, KafkaError):
        return DescribeShareGroupOffsetsResponsePartition(
            partition_index=number,
            start_offset=NO_START,
            lag=UNKNOWN_LAG,
            error_code=summary.code,
            error_message=str(summary),
        )
    return DescribeShareGroupOffsetsResponsePartition(
        partition_index=number,
        start_offset=summary.start,
        leader_epoch=summary.leader_epoch,
        lag=lag_of(summary, ends.get(TopicPartition(asked.name, number))),
    )


@answers_errors(DescribeShareGroupOffsetsRequest)
def refuse_describe_share_group_offsets(
    request: DescribeShareGroupOffsetsRequest, error: KafkaError
) -> DescribeShareGroupOffsetsResponse:
    """The same for each group: the response has no place of its own."""
    return DescribeShareGroupOffsetsResponse(
        groups=[
            DescribeShareGroupOffsetsResponseGroup(
                group_id=each.group_id, error_code=error.code, error_message=str(error)
            )
            for each in request.groups
        ]
    )


# Alter


@handles(
    AlterShareGroupOffsetsRequest,
    versions=(0, 0),
    needs=needs.inside(needs.group(Operation.READ), needs.topic(Operation.READ)),
)
async def handle_alter_share_group_offsets(
    ctx: RequestContext, request: AlterShareGroupOffsetsRequest
) -> AlterShareGroupOffsetsResponse:
    """Let a group without members go on elsewhere; it is made where there is none."""
    group_id = request.group_id
    results: dict[tuple[str, int], KafkaError | None] = {}
    offsets: dict[tuple[bytes, int], int] = {}
    names: dict[bytes, str] = {}
    asked = []
    try:
        _check(ctx, group_id, Operation.READ)
        for topic in request.topics:
            numbers = [each.partition_index for each in topic.partitions]
            one = _asked(ctx, topic.topic_name, numbers, Operation.READ)
            asked.append(one)
            for each in topic.partitions:
                error = _what_is_wrong(one, each.partition_index, each.start_offset)
                results[one.name, each.partition_index] = error
                if error is None:
                    names[one.topic_id] = one.name
                    offsets[one.topic_id, each.partition_index] = each.start_offset
        moved = await _moved(ctx, group_id, names, offsets)
    except KafkaError as error:
        return AlterShareGroupOffsetsResponse(
            error_code=error.code, error_message=str(error)
        )
    for key, failed in moved.items():
        results[names[key.topic_id], key.partition] = failed
    return AlterShareGroupOffsetsResponse(
        responses=[
            AlterShareGroupOffsetsResponseTopic(
                topic_name=each.name,
                topic_id=each.topic_id,
                partitions=[
                    _altered(number, results[each.name, number])
                    for number in each.partitions
                ],
            )
            for each in asked
        ]
    )


async def _moved(
    ctx: RequestContext,
    group_id: str,
    names: dict[bytes, str],
    offsets: dict[tuple[bytes, int], int],
) -> Results:
    if not offsets:
        return {}
    groups = ctx.services.groups.shares
    moved = await _now(groups.move(group_id, names, offsets, KafkaError.as_value))
    if isinstance(moved, KafkaError):
        raise moved
    results: Results = moved
    return results


def _what_is_wrong(asked: _Asked, number: int, start: int) -> KafkaError | None:
    if asked.error is not None:
        return asked.error
    if not asked.has(number):
        return UnknownTopicOrPartition()
    if start < 0:
        return InvalidRequest(f"{start} is no offset to go on at")
    return None


def _altered(
    number: int, error: KafkaError | None
) -> AlterShareGroupOffsetsResponsePartition:
    if error is None:
        return AlterShareGroupOffsetsResponsePartition(partition_index=number)
    return AlterShareGroupOffsetsResponsePartition(
        partition_index=number, error_code=error.code, error_message=str(error)
    )


# Delete


@handles(
    DeleteShareGroupOffsetsRequest,
    versions=(0, 0),
    needs=needs.inside(needs.group(Operation.DELETE), needs.topic(Operation.READ)),
)
async def handle_delete_share_group_offsets(
    ctx: RequestContext, request: DeleteShareGroupOffsetsRequest
) -> DeleteShareGroupOffsetsResponse:
    """Forget where a group without members is in topics."""
    group_id = request.group_id
    try:
        _check(ctx, group_id, Operation.DELETE)
        asked = [
            _asked(ctx, each.topic_name, [], Operation.READ) for each in request.topics
        ]
        topic_ids = [each.topic_id for each in asked if each.topic is not None]
        forgotten = await _forgotten(ctx, group_id, topic_ids)
    except KafkaError as error:
        return DeleteShareGroupOffsetsResponse(
            error_code=error.code, error_message=str(error)
        )
    return DeleteShareGroupOffsetsResponse(
        responses=[_deleted(each, forgotten) for each in asked]
    )


async def _forgotten(
    ctx: RequestContext, group_id: str, topic_ids: list[bytes]
) -> dict[bytes, KafkaError | None]:
    if not topic_ids:
        return {}
    groups = ctx.services.groups.shares
    found = await _now(groups.forget(group_id, topic_ids, KafkaError.as_value))
    if isinstance(found, KafkaError):
        raise found
    forgotten: dict[bytes, KafkaError | None] = found
    return forgotten


def _deleted(
    asked: _Asked, forgotten: dict[bytes, KafkaError | None]
) -> DeleteShareGroupOffsetsResponseTopic:
    error = asked.error
    if error is None and asked.topic is None:
        error = UnknownTopicOrPartition()
    if error is None:
        error = forgotten[asked.topic_id]
    if error is None:
        return DeleteShareGroupOffsetsResponseTopic(
            topic_name=asked.name, topic_id=asked.topic_id
        )
    # As Apache Kafka has it: the id is told with what was done.
    return DeleteShareGroupOffsetsResponseTopic(
        topic_name=asked.name, error_code=error.code, error_message=str(error)
    )

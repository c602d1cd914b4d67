"""CreateTopics 2-7 and CreatePartitions 0-3.

Each topic is made or refused for itself; all that are made are one commit. When the
answer leaves, the partitions can be written to and read: there is no moment of
NOT_LEADER_OR_FOLLOWER. From version 5 on CreateTopics answers the options (KIP-525),
from 7 on the id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.config.chosen_options import ChosenOptions
from odradek.broker.config.described import describe_topic
from odradek.broker.metadata.topic import NewTopic, Topic
from odradek.broker.metadata.topic_creation import (
    WantedTopic,
    check_brokers,
    check_wanted,
)
from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.protocol.acls import CLUSTER_NAME, Operation, ResourceType
from odradek.protocol.errors import (
    ErrorCode,
    InvalidReplicaAssignment,
    InvalidRequest,
    KafkaError,
    PolicyViolation,
    UnknownTopicOrPartition,
)
from odradek.protocol.messages.topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.protocol.uuids import ZERO_UUID, random_uuid

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.requests.context import RequestContext


@handles(
    CreateTopicsRequest,
    versions=(2, 7),
    needs=needs.inside(
        needs.topic(Operation.CREATE),
        needs.topic(Operation.DESCRIBE_CONFIGS),
        needs.cluster(Operation.CREATE),
    ),
)
async def handle_create_topics(
    ctx: RequestContext, request: CreateTopicsRequest
) -> CreateTopicsResponse:
    """Make topics, or with ``validate_only`` say which could be made."""
    config = ctx.services.config
    allowance = _Allowance(config.create_topics_max_partitions)
    errors: dict[str, KafkaError] = {}
    possible: list[NewTopic] = []
    for name, topics in _by_name(request.topics).items():
        try:
            if len(topics) > 1:
                raise InvalidRequest("Duplicate topic name.")
            if not ctx.sees(Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME):
                ctx.require(Operation.CREATE, ResourceType.TOPIC, name)
            wanted = _wanted(topics[0])
            ctx.services.metadata.check_new_name(name)
            new = check_wanted(wanted, config)
            allowance.take(new.partition_count)
            possible.append(new)
        except KafkaError as error:
            errors[name] = error
    results = {name: _refused(name, error) for name, error in errors.items()}
    shown = _ShownOptions(config)
    if request.validate_only:
        made: list[Topic | KafkaError] = [_unmade(new) for new in possible]
    else:
        made = await ctx.services.metadata.create_topics(possible)
    for new, topic in zip(possible, made, strict=True):
        if isinstance(topic, KafkaError):
            results[new.name] = _refused(new.name, topic)
        else:
            made_topic = _made(topic, new.partition_count, shown)
            if not ctx.sees(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, new.name):
                _hide_options(made_topic)
            results[new.name] = made_topic
    return CreateTopicsResponse(
        topics=[results[name] for name in _by_name(request.topics)]
    )


@answers_errors(CreateTopicsRequest)
def refuse_create_topics(
    request: CreateTopicsRequest, error: KafkaError
) -> CreateTopicsResponse:
    """The error at every topic."""
    return CreateTopicsResponse(
        topics=[_refused(name, error) for name in _by_name(request.topics)]
    )


@handles(
    CreatePartitionsRequest,
    versions=(0, 3),
    needs=needs.inside(needs.topic(Operation.ALTER)),
)
async def handle_create_partitions(
    ctx: RequestContext, request: CreatePartitionsRequest
) -> CreatePartitionsResponse:
    """Give topics more partitions; nobody can take any away."""
    allowance = _Allowance(ctx.services.config.create_topics_max_partitions)
    topics: dict[str, list[CreatePartitionsTopic]] = {}
    for topic in request.topics:
        topics.setdefault(topic.name, []).append(topic)
    errors: dict[str, KafkaError | None] = {}
    counts = {}
    for name, wanted in topics.items():
        try:
            if len(wanted) > 1:
                raise InvalidRequest("Duplicate topic name.")
            ctx.require(Operation.ALTER, ResourceType.TOPIC, name)
            _check_widening(ctx, wanted[0], allowance)
            counts[name] = wanted[0].count
        except KafkaError as error:
            errors[name] = error
    if counts and not request.validate_only:
        errors |= await ctx.services.metadata.create_partitions(counts)
    return CreatePartitionsResponse(
        results=[_widened(name, errors.get(name)) for name in topics]
    )


@answers_errors(CreatePartitionsRequest)
def refuse_create_partitions(
    request: CreatePartitionsRequest, error: KafkaError
) -> CreatePartitionsResponse:
    """The error at every topic."""
    return CreatePartitionsResponse(
        results=[_widened(topic.name, error) for topic in request.topics]
    )


class _Allowance:
    """How many partitions one request may still make."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = limit

    def take(self, count: int) -> None:
        if count > self._left:
            raise PolicyViolation(
                "Excessively large number of partitions per request: at most "
                f"{self._limit} (create.topics.max.partitions)."
            )
        self._left -= count


def _by_name(topics: Iterable[CreatableTopic]) -> dict[str, list[CreatableTopic]]:
    named: dict[str, list[CreatableTopic]] = {}
    for topic in topics:
        named.setdefault(topic.name, []).append(topic)
    return named


def _wanted(topic: CreatableTopic) -> WantedTopic:
    return WantedTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        [(each.partition_index, each.broker_ids) for each in topic.assignments],
        {option.name: option.value for option in topic.configs},
    )


def _unmade(new: NewTopic) -> Topic:
    """The topic that would be made; its id means nothing (Kafka sends one too)."""
    return Topic(new.name, random_uuid(), [], ChosenOptions.of(new.options))


class _ShownOptions:
    """The options as the answer shows them; topics that agree share a list."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._lists: dict[frozenset[tuple[str, str]], list[CreatableTopicConfigs]] = {}

    def of(self, topic: Topic) -> list[CreatableTopicConfigs]:
        key = frozenset(topic.options.items())
        if key not in self._lists:
            self._lists[key] = [
                CreatableTopicConfigs(
                    name=described.name,
                    value=described.value,
                    config_source=described.source,
                )
                for described in describe_topic(topic.options, self._config)
            ]
        return self._lists[key]


def _made(
    topic: Topic, partition_count: int, shown: _ShownOptions
) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=topic.name,
        topic_id=topic.topic_id,
        error_message=None,
        num_partitions=partition_count,
        replication_factor=1,
        configs=shown.of(topic),
    )


def _hide_options(result: CreatableTopicResult) -> None:
    """Leave out what the client may not see of the topic that it has made."""
    result.num_partitions = result.replication_factor = -1
    result.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    result.configs = []


def _refused(name: str, error: KafkaError) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=name,
        topic_id=ZERO_UUID,
        error_code=error.code,
        error_message=str(error),
        configs=[],
    )


def _check_widening(
    ctx: RequestContext, topic: CreatePartitionsTopic, allowance: _Allowance
) -> None:
    topics = ctx.services.metadata
    topics.check_wider(topic.name, topic.count)
    topics.check_not_mirrored(topic.name)
    if topics.known(topic.name).is_internal:
        # Apache Kafka does it, and looks for groups and transactions in the wrong
        # partitions from its next start on.
        raise PolicyViolation(
            f"The coordinator of {topic.name} finds keys by the number of partitions."
        )
    added = topic.count - len(topics.known(topic.name).partitions)
    if topic.assignments is not None:
        if len(topic.assignments) != added:
            raise InvalidReplicaAssignment(
                f"Attempted to add {added} additional partition(s), but only "
                f"{len(topic.assignments)} assignment(s) were specified."
            )
        for assignment in topic.assignments:
            check_brokers(assignment.broker_ids, ctx.services.node_id)
    allowance.take(added)


def _widened(name: str, error: KafkaError | None) -> CreatePartitionsTopicResult:
    if error is None:
        return CreatePartitionsTopicResult(name=name)
    # Apache Kafka sends no message here, and clients print their own.
    message = None if isinstance(error, UnknownTopicOrPartition) else str(error)
    return CreatePartitionsTopicResult(
        name=name, error_code=error.code, error_message=message
    )

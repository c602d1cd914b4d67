"""Topics for administrators: create, list, describe, widen, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import NotController, UnknownTopicOrPartition
from odradek.protocol.messages.metadata import MetadataResponse
from odradek.protocol.messages.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

from .errors import error_of, raise_for
from .metadata import metadata_request

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from odradek.protocol.errors import KafkaError

    from .cluster import Cluster

DEFAULT = -1  # as many as the broker is configured for


class NewTopic(NamedTuple):
    """A topic to make; ``replicas`` names the brokers of each partition."""

    name: str
    partitions: int = DEFAULT
    replication_factor: int = DEFAULT
    configs: Mapping[str, str | None] = {}
    replicas: Sequence[Sequence[int]] = ()


class CreatedTopic(NamedTuple):
    """A topic as it was made; -1 where the broker is too old to say."""

    name: str
    topic_id: bytes
    partitions: int
    replication_factor: int


class PartitionDescription(NamedTuple):
    """Who leads a partition (-1: nobody), and who holds copies of it."""

    partition: int
    leader: int
    replicas: Sequence[int]
    in_sync: Sequence[int]
    offline: Sequence[int]


class TopicDescription(NamedTuple):
    """A topic with its partitions, in their order."""

    name: str
    topic_id: bytes
    is_internal: bool
    partitions: Sequence[PartitionDescription]


class Topics(NamedTuple):
    """What was found, and what there is not, or may not be seen."""

    found: dict[str, TopicDescription]
    failed: dict[str, KafkaError]


def create_topic(
    cluster: Cluster, topic: NewTopic, *, validate_only: bool = False
) -> CreatedTopic:
    """Make a topic, or only find out whether it could be made.

    Raises:
        TopicAlreadyExists, InvalidTopic, InvalidPartitions,
        InvalidReplicationFactor, InvalidConfig, PolicyViolation: it was not.
    """
    request = CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=topic.name,
                num_partitions=DEFAULT if topic.replicas else topic.partitions,
                replication_factor=topic.replication_factor,
                assignments=[
                    CreatableReplicaAssignment(partition_index=n, broker_ids=list(ids))
                    for n, ids in enumerate(topic.replicas)
                ],
                configs=[
                    CreatableTopicConfig(name=name, value=value)
                    for name, value in topic.configs.items()
                ],
            )
        ],
        timeout_ms=int(cluster.timeout_s * 1000),
        validate_only=validate_only,
    )

    def ask() -> CreatedTopic:
        (made,) = cluster.request(request, CreateTopicsResponse).topics
        raise_for(made.error_code, made.error_message)
        return CreatedTopic(
            made.name, made.topic_id, made.num_partitions, made.replication_factor
        )

    return cluster.retry.run(ask, _is_moving)


def describe_topics(cluster: Cluster, names: Collection[str] | None = None) -> Topics:
    """These topics, or all, by name."""
    request = metadata_request(names)
    response = cluster.request(request, MetadataResponse)
    topics = Topics({}, {})
    for topic in sorted(response.topics, key=lambda topic: topic.name or ""):
        name = topic.name or ""
        if topic.error_code:
            topics.failed[name] = error_of(topic.error_code)
            continue
        partitions = [
            PartitionDescription(
                each.partition_index,
                each.leader_id,
                each.replica_nodes,
                each.isr_nodes,
                each.offline_replicas,
            )
            for each in topic.partitions
        ]
        topics.found[name] = TopicDescription(
            name, topic.topic_id, topic.is_internal, sorted(partitions)
        )
    return topics


def create_partitions(
    cluster: Cluster, name: str, count: int, *, validate_only: bool = False
) -> None:
    """Let a topic have ``count`` partitions in all.

    Raises:
        InvalidPartitions: it has as many, or more.
        UnknownTopicOrPartition: there is no such topic.
    """
    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=name, count=count, assignments=None)],
        timeout_ms=int(cluster.timeout_s * 1000),
        validate_only=validate_only,
    )

    def ask() -> None:
        (result,) = cluster.request(request, CreatePartitionsResponse).results
        raise_for(result.error_code, result.error_message)

    cluster.retry.run(ask, _is_moving)


def delete_topic(cluster: Cluster, name: str) -> None:
    """Delete a topic with all its records.

    Raises:
        UnknownTopicOrPartition: there is none of this name.
        TopicDeletionDisabled: the broker does not allow it.
    """
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name=name)],
        topic_names=[name],
        timeout_ms=int(cluster.timeout_s * 1000),
    )

    def ask() -> None:
        answer = cluster.request(request, DeleteTopicsResponse)
        if not answer.responses:
            raise UnknownTopicOrPartition
        (result,) = answer.responses
        raise_for(result.error_code, result.error_message)

    cluster.retry.run(ask, _is_moving)


def _is_moving(error: Exception) -> bool:
    return isinstance(error, NotController)

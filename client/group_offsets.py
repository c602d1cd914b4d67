"""The offsets that a group has committed: read, set, forget.

Offsets are set as a consumer without membership does it, which a coordinator allows
while the group has no members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    NotCoordinator,
)
from odradek.protocol.messages.group_admin import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from odradek.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
)
from odradek.protocol.topic_partition import TopicPartition

from .errors import error_of, raise_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from odradek.protocol.errors import KafkaError

    from .cluster import Cluster
    from .metadata import Broker

LAST_VERSION_WITH_NAMES = 9
_NONE = -1
_OF_WHOLE_GROUP = (CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator)


class CommittedOffset(NamedTuple):
    """Where a group goes on to read; the epoch of the record before it, or -1."""

    offset: int
    leader_epoch: int
    metadata: str


def committed_offsets(
    cluster: Cluster, group_id: str, *, stable: bool = False
) -> dict[TopicPartition, CommittedOffset]:
    """Everything that the group has committed; nothing for a group that is not there.

    Raises:
        UnstableOffsetCommit: it was to be ``stable``, and a transaction is open that
            has offsets of this group.
        KafkaError: the coordinator refuses, or an offset cannot be told.
    """
    # One group until version 7, many from version 8 on.
    request = OffsetFetchRequest(
        group_id=group_id,
        topics=None,
        groups=[OffsetFetchRequestGroup(group_id=group_id, topics=None)],
        require_stable=stable,
    )

    def fetch(coordinator: Broker) -> dict[TopicPartition, CommittedOffset]:
        response = cluster.request(
            request, OffsetFetchResponse, coordinator.node_id, LAST_VERSION_WITH_NAMES
        )
        return _committed(response)

    return cluster.at_coordinator(group_id, fetch)


def _committed(response: OffsetFetchResponse) -> dict[TopicPartition, CommittedOffset]:
    group = response.groups[0] if response.groups else response
    raise_for(group.error_code)
    found: dict[TopicPartition, CommittedOffset] = {}
    for topic in group.topics:
        for each in topic.partitions:
            place = TopicPartition(topic.name, each.partition_index)
            if each.error_code:
                error = error_of(each.error_code)
                raise type(error)(f"{place}: {error}")
            if each.committed_offset != _NONE:
                found[place] = CommittedOffset(
                    each.committed_offset,
                    each.committed_leader_epoch,
                    each.metadata or "",
                )
    return dict(sorted(found.items()))


def commit_offsets(
    cluster: Cluster, group_id: str, offsets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, KafkaError]:
    """Let a group without members go on from these offsets; what was refused.

    UnknownMemberId for a partition says that the group has members.
    """
    request = commit_request(group_id, offsets)

    def commit(coordinator: Broker) -> dict[TopicPartition, KafkaError]:
        response = cluster.request(
            request, OffsetCommitResponse, coordinator.node_id, LAST_VERSION_WITH_NAMES
        )
        return refused_offsets(response)

    return cluster.at_coordinator(group_id, commit)


def commit_request(
    group_id: str, offsets: Mapping[TopicPartition, int]
) -> OffsetCommitRequest:
    """What commits these offsets for who is no member."""
    return OffsetCommitRequest(
        group_id=group_id,
        topics=[
            OffsetCommitRequestTopic(
                name=name,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=place.partition, committed_offset=offsets[place]
                    )
                    for place in places
                ],
            )
            for name, places in _by_topic(offsets).items()
        ],
    )


def delete_offsets(
    cluster: Cluster, group_id: str, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, KafkaError]:
    """Forget these offsets; what was refused.

    Raises:
        GroupIdNotFound, NonEmptyGroup: nothing was done.
    """
    request = OffsetDeleteRequest(
        group_id=group_id,
        topics=[
            OffsetDeleteRequestTopic(
                name=name,
                partitions=[
                    OffsetDeleteRequestPartition(partition_index=place.partition)
                    for place in places
                ],
            )
            for name, places in _by_topic(partitions).items()
        ],
    )

    def delete(coordinator: Broker) -> dict[TopicPartition, KafkaError]:
        response = cluster.request(request, OffsetDeleteResponse, coordinator.node_id)
        raise_for(response.error_code)
        return refused_offsets(response)

    return cluster.at_coordinator(group_id, delete)


def _by_topic(
    partitions: Iterable[TopicPartition],
) -> dict[str, list[TopicPartition]]:
    topics: dict[str, list[TopicPartition]] = {}
    for place in partitions:
        topics.setdefault(place.topic, []).append(place)
    return topics


def refused_offsets(
    response: OffsetCommitResponse | OffsetDeleteResponse,
) -> dict[TopicPartition, KafkaError]:
    """The partitions whose offset was refused, and why.

    Raises:
        CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator: all were.
    """
    refused: dict[TopicPartition, KafkaError] = {}
    for topic in response.topics:
        for each in topic.partitions:
            if each.error_code:
                place = TopicPartition(topic.name, each.partition_index)
                refused[place] = error_of(each.error_code)
    for error in refused.values():
        if isinstance(error, _OF_WHOLE_GROUP):
            raise error
    return refused

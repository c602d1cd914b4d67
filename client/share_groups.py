"""Share groups (KIP-932) for administrators: described, moved, made to forget."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.messages.share_groups import (
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    ShareGroupMember,
)
from odradek.protocol.messages.share_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
)
from odradek.protocol.topic_partition import TopicPartition

from .errors import error_of, raise_for
from .groups import SHARE, GroupDescription, GroupMember

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from odradek.protocol.errors import KafkaError

    from .cluster import Cluster
    from .metadata import Broker

_UNKNOWN = -1


class SharePlace(NamedTuple):
    """The first record that is not done, and how many are not; None: not known."""

    start: int | None
    lag: int | None


def describe_share_group(
    cluster: Cluster, group_id: str, coordinator: Broker
) -> GroupDescription:
    """What a share group is doing.

    Raises:
        GroupIdNotFound: there is none of this name.
    """
    request = ShareGroupDescribeRequest(group_ids=[group_id])
    response = cluster.request(request, ShareGroupDescribeResponse, coordinator.node_id)
    (group,) = response.groups
    raise_for(group.error_code, group.error_message)
    return GroupDescription(
        group_id,
        group.group_state,
        SHARE,
        SHARE,
        group.assignor_name,
        coordinator,
        [_member(each) for each in group.members],
        group.group_epoch,
    )


def _member(member: ShareGroupMember) -> GroupMember:
    assignment = sorted(
        TopicPartition(topic.topic_name, partition)
        for topic in member.assignment.topic_partitions
        for partition in topic.partitions
    )
    return GroupMember(
        member.member_id,
        None,
        member.client_id,
        member.client_host,
        assignment,
        member.member_epoch,
    )


def share_places(cluster: Cluster, group_id: str) -> dict[TopicPartition, SharePlace]:
    """Where a group is in each partition that it has a place in.

    Raises:
        KafkaError: the coordinator refuses, or a place cannot be told.
    """
    asked = DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=None)
    request = DescribeShareGroupOffsetsRequest(groups=[asked])

    def describe(coordinator: Broker) -> dict[TopicPartition, SharePlace]:
        response = cluster.request(
            request, DescribeShareGroupOffsetsResponse, coordinator.node_id
        )
        (group,) = response.groups
        raise_for(group.error_code, group.error_message)
        found = {}
        for topic in group.topics:
            for each in topic.partitions:
                raise_for(each.error_code, each.error_message)
                place = TopicPartition(topic.topic_name, each.partition_index)
                found[place] = SharePlace(_known(each.start_offset), _known(each.lag))
        return dict(sorted(found.items()))

    return cluster.at_coordinator(group_id, describe)


def _known(number: int) -> int | None:
    return None if number == _UNKNOWN else number


def move_share_group(
    cluster: Cluster, group_id: str, offsets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, KafkaError]:
    """Let a group without members go on from these offsets; what was refused.

    Raises:
        NonEmptyGroup, GroupIdNotFound.
    """
    by_topic: dict[str, list[AlterShareGroupOffsetsRequestPartition]] = {}
    for (topic, partition), offset in offsets.items():
        by_topic.setdefault(topic, []).append(
            AlterShareGroupOffsetsRequestPartition(
                partition_index=partition, start_offset=offset
            )
        )
    request = AlterShareGroupOffsetsRequest(
        group_id=group_id,
        topics=[
            AlterShareGroupOffsetsRequestTopic(topic_name=name, partitions=partitions)
            for name, partitions in by_topic.items()
        ],
    )

    def alter(coordinator: Broker) -> dict[TopicPartition, KafkaError]:
        response = cluster.request(
            request, AlterShareGroupOffsetsResponse, coordinator.node_id
        )
        raise_for(response.error_code, response.error_message)
        return {
            TopicPartition(topic.topic_name, each.partition_index): error_of(
                each.error_code, each.error_message
            )
            for topic in response.responses
            for each in topic.partitions
            if each.error_code
        }

    return cluster.at_coordinator(group_id, alter)


def forget_share_topics(
    cluster: Cluster, group_id: str, names: Iterable[str]
) -> dict[str, KafkaError]:
    """Forget where a group without members is in topics; what was refused, by topic.

    Raises:
        NonEmptyGroup, GroupIdNotFound.
    """
    request = DeleteShareGroupOffsetsRequest(
        group_id=group_id,
        topics=[DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in names],
    )

    def delete(coordinator: Broker) -> dict[str, KafkaError]:
        response = cluster.request(
            request, DeleteShareGroupOffsetsResponse, coordinator.node_id
        )
        raise_for(response.error_code, response.error_message)
        return {
            each.topic_name: error_of(each.error_code, each.error_message)
            for each in response.responses
            if each.error_code
        }

    return cluster.at_coordinator(group_id, delete)

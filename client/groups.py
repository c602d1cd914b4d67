"""Groups for administrators: list, describe, delete."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.consumer_protocol import PROTOCOL_TYPE, decode_assignment
from odradek.protocol.errors import (
    GroupIdNotFound,
    MalformedRequest,
    UnsupportedVersion,
)
from odradek.protocol.messages.consumer_groups import (
    ConsumerGroupAssignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupMember,
)
from odradek.protocol.messages.group_admin import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from odradek.protocol.topic_partition import TopicPartition

from .cluster import may_pass
from .errors import raise_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .cluster import Cluster
    from .metadata import Broker
    from .streams_groups import MemberTasks

CLASSIC = "classic"
CONSUMER = "consumer"
SHARE = "share"
STREAMS = "streams"
EMPTY = "Empty"
DEAD = "Dead"
_FIRST_VERSION_WITH_STATES = 4
_FIRST_VERSION_WITH_TYPES = 5


class GroupListing(NamedTuple):
    """A group in a list; state and type are empty where the broker is too old."""

    group_id: str
    protocol_type: str
    state: str
    group_type: str


class GroupMember(NamedTuple):
    """A member; ``assignment`` is None where it is not that of a consumer.

    A member of a consumer or streams group has an epoch, too, and what it shall read in
    the end; one of a share group an epoch alone. That of a streams group has tasks.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: Sequence[TopicPartition] | None
    epoch: int | None = None
    target: Sequence[TopicPartition] | None = None
    tasks: MemberTasks | None = None


class GroupDescription(NamedTuple):
    """A group and its members; ``assignor`` is the protocol of a classic group.

    ``epoch`` is that of other groups than classic ones: their members are on the way to
    it. ``missing_topics`` are those without which a streams group has no tasks.
    """

    group_id: str
    state: str
    group_type: str
    protocol_type: str
    assignor: str
    coordinator: Broker
    members: Sequence[GroupMember]
    epoch: int | None = None
    missing_topics: Sequence[str] = ()


def list_groups(
    cluster: Cluster, states: Sequence[str] = (), types: Sequence[str] = ()
) -> list[GroupListing]:
    """The groups of all brokers, by name; of these states and types, or of all.

    Raises:
        UnsupportedVersion: a broker is too old for a filter.
    """
    request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
    found: dict[str, GroupListing] = {}
    for node_id in cluster.metadata(()).brokers:
        ask = partial(_list_of_broker, cluster, request, node_id)
        for each in cluster.retry.run(ask, may_pass).groups:
            found[each.group_id] = GroupListing(
                each.group_id, each.protocol_type, each.group_state, each.group_type
            )
    return [found[name] for name in sorted(found)]


def _list_of_broker(
    cluster: Cluster, request: ListGroupsRequest, node_id: int
) -> ListGroupsResponse:
    version = cluster.version_of(request, node_id)
    if request.types_filter and version < _FIRST_VERSION_WITH_TYPES:
        raise UnsupportedVersion("The broker is too old to list groups by type.")
    if request.states_filter and version < _FIRST_VERSION_WITH_STATES:
        raise UnsupportedVersion("The broker is too old to list groups by state.")
    response = cluster.request(request, ListGroupsResponse, node_id)
    raise_for(response.error_code)
    return response


def describe_group(cluster: Cluster, group_id: str) -> GroupDescription:
    """What a group is doing, of whichever type it is.

    Raises:
        GroupIdNotFound: there is none of this name.
    """

    def describe(coordinator: Broker) -> GroupDescription:
        try:
            return _describe_consumer_group(cluster, group_id, coordinator)
        except (GroupIdNotFound, UnsupportedVersion):
            return _describe_other_group(cluster, group_id, coordinator)

    return cluster.at_coordinator(group_id, describe)


def _describe_other_group(
    cluster: Cluster, group_id: str, coordinator: Broker
) -> GroupDescription:
    try:
        return _describe_classic_group(cluster, group_id, coordinator)
    except GroupIdNotFound:
        from .share_groups import describe_share_group  # few clusters have any
        from .streams_groups import describe_streams_group

        for describe in (describe_share_group, describe_streams_group):
            with suppress(GroupIdNotFound, UnsupportedVersion):
                return describe(cluster, group_id, coordinator)
        raise


def _describe_consumer_group(
    cluster: Cluster, group_id: str, coordinator: Broker
) -> GroupDescription:
    request = ConsumerGroupDescribeRequest(group_ids=[group_id])
    response = cluster.request(
        request, ConsumerGroupDescribeResponse, coordinator.node_id
    )
    (group,) = response.groups
    raise_for(group.error_code, group.error_message)
    return GroupDescription(
        group_id,
        group.group_state,
        CONSUMER,
        PROTOCOL_TYPE,
        group.assignor_name,
        coordinator,
        [_consumer_group_member(each) for each in group.members],
        group.group_epoch,
    )


def _consumer_group_member(member: ConsumerGroupMember) -> GroupMember:
    return GroupMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        _partitions(member.assignment),
        member.member_epoch,
        _partitions(member.target_assignment),
    )


def _partitions(assignment: ConsumerGroupAssignment) -> list[TopicPartition]:
    return sorted(
        TopicPartition(topic.topic_name, partition)
        for topic in assignment.topic_partitions
        for partition in topic.partitions
    )


def _describe_classic_group(
    cluster: Cluster, group_id: str, coordinator: Broker
) -> GroupDescription:
    request = DescribeGroupsRequest(groups=[group_id])
    response = cluster.request(request, DescribeGroupsResponse, coordinator.node_id)
    (group,) = response.groups
    raise_for(group.error_code, group.error_message)
    if group.group_state == DEAD and not group.members:  # up to version 5
        raise GroupIdNotFound
    is_of_consumers = group.protocol_type == PROTOCOL_TYPE
    return GroupDescription(
        group_id,
        group.group_state,
        CLASSIC,
        group.protocol_type,
        group.protocol_data,
        coordinator,
        [_classic_member(each, is_of_consumers) for each in group.members],
    )


def _classic_member(member: DescribedGroupMember, is_consumer: bool) -> GroupMember:
    assignment: list[TopicPartition] | None = None
    if is_consumer:
        # A member may be of a client that puts something else there.
        with suppress(MalformedRequest):
            assignment = sorted(decode_assignment(member.member_assignment))
    return GroupMember(
        member.member_id,
        member.group_instance_id,
        member.client_id,
        member.client_host,
        assignment,
    )


def delete_group(cluster: Cluster, group_id: str) -> None:
    """Remove a group without members, and what it has committed.

    Raises:
        GroupIdNotFound, NonEmptyGroup.
    """
    request = DeleteGroupsRequest(groups_names=[group_id])

    def delete(coordinator: Broker) -> None:
        response = cluster.request(request, DeleteGroupsResponse, coordinator.node_id)
        for result in response.results:
            raise_for(result.error_code)

    cluster.at_coordinator(group_id, delete)

"""Streams groups (KIP-1071) for administrators: which member works on which tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import UnknownTopicOrPartition
from odradek.protocol.messages.streams_groups import (
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)
from odradek.protocol.topic_partition import TopicPartition

from .errors import raise_for
from .groups import STREAMS, GroupDescription, GroupMember

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from odradek.protocol.messages.streams_groups import (
        StreamsGroupAssignment,
        StreamsGroupMember,
        StreamsGroupSubtopology,
        StreamsTaskIds,
    )

    from .cluster import Cluster
    from .metadata import Broker

    Inputs = Mapping[str, Sequence[tuple[str, Collection[int]]]]

Tasks = dict[str, tuple[int, ...]]
"""Partitions by the id of their subtopology."""


class MemberTasks(NamedTuple):
    """What a member works on; what it follows; what it is about to follow."""

    process_id: str
    active: Tasks
    standby: Tasks
    warmup: Tasks


def describe_streams_group(
    cluster: Cluster, group_id: str, coordinator: Broker
) -> GroupDescription:
    """What a streams group is doing. Its members read what their active tasks do.

    Raises:
        GroupIdNotFound: there is none of this name.
    """
    request = StreamsGroupDescribeRequest(group_ids=[group_id])
    response = cluster.request(
        request, StreamsGroupDescribeResponse, coordinator.node_id
    )
    (group,) = response.groups
    raise_for(group.error_code, group.error_message)
    subtopologies = (group.topology.subtopologies or ()) if group.topology else ()
    names = sorted({name for each in subtopologies for name in _topics(each)})
    metadata = cluster.metadata(names)
    missing = [
        name
        for name in names
        if isinstance(metadata.failed.get(name), UnknownTopicOrPartition)
    ]
    inputs = {
        each.subtopology_id: [
            (name, metadata.topics[name].leaders)
            for name in _inputs(each)
            if name in metadata.topics
        ]
        for each in subtopologies
    }
    return GroupDescription(
        group_id,
        group.group_state,
        STREAMS,
        STREAMS,
        "",
        coordinator,
        [_member(each, inputs) for each in group.members],
        group.group_epoch,
        missing,
    )


def _inputs(subtopology: StreamsGroupSubtopology) -> list[str]:
    internal = (each.name for each in subtopology.repartition_source_topics)
    return [*subtopology.source_topics, *internal]


def _topics(subtopology: StreamsGroupSubtopology) -> list[str]:
    changelogs = (each.name for each in subtopology.state_changelog_topics)
    return [*_inputs(subtopology), *changelogs]


def _member(member: StreamsGroupMember, inputs: Inputs) -> GroupMember:
    has = member.assignment
    return GroupMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        _read(has, inputs),
        member.member_epoch,
        _read(member.target_assignment, inputs),
        MemberTasks(
            member.process_id,
            _tasks(has.active_tasks),
            _tasks(has.standby_tasks),
            _tasks(has.warmup_tasks),
        ),
    )


def _tasks(tasks: Sequence[StreamsTaskIds]) -> Tasks:
    return {each.subtopology_id: tuple(sorted(each.partitions)) for each in tasks}


def _read(assignment: StreamsGroupAssignment, inputs: Inputs) -> list[TopicPartition]:
    return sorted(
        TopicPartition(name, partition)
        for tasks in assignment.active_tasks
        for name, there in inputs.get(tasks.subtopology_id, ())
        for partition in tasks.partitions
        if partition in there
    )

"""StreamsGroupDescribe: what a group does, and the tasks of each of its members."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision
from odradek.protocol.errors import ErrorCode, StreamsInvalidTopology
from odradek.protocol.messages.streams_groups import (
    DescribedStreamsGroup,
    StreamsEndpoint,
    StreamsGroupAssignment,
    StreamsGroupMember,
    StreamsGroupSubtopology,
    StreamsGroupTopology,
    StreamsKeyValue,
    StreamsTaskIds,
    StreamsTopicInfo,
)

from .draft import StreamsDraft
from .finding import known_group

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.streams.configured import (
        ConfiguredSubtopology,
    )
    from odradek.broker.coordinator.group.state.streams.group import StreamsGroup
    from odradek.broker.coordinator.group.state.streams.member import StreamsMember
    from odradek.broker.coordinator.group.state.streams.tasks import TaskIds, Tasks
    from odradek.broker.coordinator.group.state.streams.topology import InternalTopic


def decide_describe_streams_group(shard: GroupShard, group_id: str) -> Decision:
    """Tell what a group does.

    Raises:
        GroupIdNotFound: there is none, or one of another type.
    """
    group = known_group(shard, group_id)
    described = DescribedStreamsGroup(
        error_code=ErrorCode.NONE,
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        topology=_topology(shard, group),
        members=[_member(group, each) for each in group.members.values()],
    )
    return Decision(described, reads_state=True)


def _topology(shard: GroupShard, group: StreamsGroup) -> StreamsGroupTopology | None:
    """With the numbers of partitions, once all topics were found to be there."""
    topology = group.topology
    if topology is None:
        return None
    found = _found(shard, group)
    if found is not None:
        parts = [
            _part(
                key,
                each.source_topics,
                each.repartition_sinks,
                each.changelogs,
                each.repartition_sources,
            )
            for key, each in sorted(found.items())
        ]
    else:
        parts = [
            _part(
                each.subtopology_id,
                each.source_topics,
                each.repartition_sinks,
                each.changelogs,
                each.repartition_sources,
            )
            for each in topology.subtopologies
        ]
    return StreamsGroupTopology(epoch=topology.epoch, subtopologies=parts)


def _found(
    shard: GroupShard, group: StreamsGroup
) -> Mapping[str, ConfiguredSubtopology] | None:
    """The parts of a topology whose topics are all there."""
    if group.topology is None or group.topology.epoch != group.validated_epoch:
        return None
    try:
        configured = StreamsDraft(shard, group).look_at_topics()
    except StreamsInvalidTopology:
        return None
    return configured.subtopologies if configured.problem is None else None


def _part(
    subtopology_id: str,
    sources: Iterable[str],
    sinks: Iterable[str],
    changelogs: Iterable[InternalTopic],
    repartitioned: Iterable[InternalTopic],
) -> StreamsGroupSubtopology:
    return StreamsGroupSubtopology(
        subtopology_id=subtopology_id,
        source_topics=sorted(sources),
        repartition_sink_topics=sorted(sinks),
        state_changelog_topics=[_topic(each) for each in sorted(changelogs)],
        repartition_source_topics=[_topic(each) for each in sorted(repartitioned)],
    )


def _topic(topic: InternalTopic) -> StreamsTopicInfo:
    return StreamsTopicInfo(
        name=topic.name,
        partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        topic_configs=[
            StreamsKeyValue(key=key, value=text) for key, text in topic.configs
        ],
    )


def _member(group: StreamsGroup, member: StreamsMember) -> StreamsGroupMember:
    info, holding = member.info, member.holding
    endpoint = info.endpoint
    return StreamsGroupMember(
        member_id=member.member_id,
        member_epoch=holding.epoch,
        instance_id=info.instance_id,
        rack_id=info.rack_id,
        client_id=info.client_id,
        client_host=info.client_host,
        topology_epoch=info.topology_epoch,
        process_id=info.process_id,
        user_endpoint=None
        if endpoint is None
        else StreamsEndpoint(host=endpoint.host, port=endpoint.port),
        client_tags=[
            StreamsKeyValue(key=key, value=text) for key, text in info.client_tags
        ],
        assignment=_assignment(holding.assigned.without_epochs()),
        target_assignment=_assignment(group.target_of(member.member_id)),
    )


def _assignment(tasks: Tasks) -> StreamsGroupAssignment:
    return StreamsGroupAssignment(
        active_tasks=_ids(tasks.active),
        standby_tasks=_ids(tasks.standby),
        warmup_tasks=_ids(tasks.warmup),
    )


def _ids(ids: TaskIds) -> list[StreamsTaskIds]:
    return [
        StreamsTaskIds(subtopology_id=key, partitions=sorted(partitions))
        for key, partitions in sorted(ids.items())
    ]

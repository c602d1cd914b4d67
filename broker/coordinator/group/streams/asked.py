"""What a heartbeat of a streams group says, as the values that are kept of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.coordinator.group.state.streams.member import Endpoint
from odradek.broker.coordinator.group.state.streams.tasks import Tasks
from odradek.broker.coordinator.group.state.streams.topology import (
    CopartitionGroup,
    InternalTopic,
    Subtopology,
    Topology,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.broker.coordinator.group.state.streams.member import StreamsMemberInfo
    from odradek.broker.coordinator.group.state.streams.tasks import TaskIds
    from odradek.protocol.messages.streams_groups import (
        StreamsGroupHeartbeatRequest,
        StreamsHeartbeatSubtopology,
        StreamsHeartbeatTopology,
        StreamsTaskIds,
        StreamsTopicInfo,
    )

NOT_SAID = -1


class StreamsBeat(NamedTuple):
    """One heartbeat, and who sent it."""

    request: StreamsGroupHeartbeatRequest
    client_id: str
    client_host: str


def owned_tasks(request: StreamsGroupHeartbeatRequest) -> Tasks | None:
    """The tasks that a member says to have; None: it did not say."""
    if request.active_tasks is None:
        return None
    return Tasks(
        _ids(request.active_tasks),
        _ids(request.standby_tasks or ()),
        _ids(request.warmup_tasks or ()),
    )


def _ids(said: Sequence[StreamsTaskIds]) -> TaskIds:
    ids: dict[str, frozenset[int]] = {}
    for each in said:
        known = ids.get(each.subtopology_id, frozenset())
        ids[each.subtopology_id] = known.union(each.partitions)
    return ids


def described(known: StreamsMemberInfo, beat: StreamsBeat) -> StreamsMemberInfo:
    """The member as it describes itself now: what it does not say is as before."""
    request = beat.request
    said: dict[str, object] = {}
    if known.client_id != beat.client_id or known.client_host != beat.client_host:
        said.update(client_id=beat.client_id, client_host=beat.client_host)
    if request.rack_id is not None:
        said["rack_id"] = request.rack_id
    if request.rebalance_timeout_ms != NOT_SAID:
        said["rebalance_timeout_ms"] = request.rebalance_timeout_ms
    if request.topology is not None:
        said["topology_epoch"] = request.topology.epoch
    if request.process_id is not None:
        said["process_id"] = request.process_id
    if request.user_endpoint is not None:
        endpoint = request.user_endpoint
        said["endpoint"] = Endpoint(endpoint.host, endpoint.port)
    if request.client_tags is not None:
        tags = {each.key: each.value for each in request.client_tags}
        said["client_tags"] = tuple(sorted(tags.items()))
    return known._replace(**said) if said else known  # type: ignore[arg-type]


def topology_said(said: StreamsHeartbeatTopology) -> Topology:
    """What a member says that its application computes."""
    parts = {each.subtopology_id: _part(each) for each in said.subtopologies}
    return Topology(said.epoch, tuple(part for _, part in sorted(parts.items())))


def _part(said: StreamsHeartbeatSubtopology) -> Subtopology:
    return Subtopology(
        said.subtopology_id,
        tuple(said.source_topics),
        tuple(said.source_topic_regex),
        tuple(_topic(each) for each in said.repartition_source_topics),
        tuple(said.repartition_sink_topics),
        tuple(_topic(each) for each in said.state_changelog_topics),
        tuple(
            CopartitionGroup(
                tuple(each.source_topics),
                tuple(each.source_topic_regex),
                tuple(each.repartition_source_topics),
            )
            for each in said.copartition_groups
        ),
    )


def _topic(said: StreamsTopicInfo) -> InternalTopic:
    configs = {each.key: each.value for each in said.topic_configs}
    return InternalTopic(
        said.name,
        said.partitions,
        said.replication_factor,
        tuple(sorted(configs.items())),
    )

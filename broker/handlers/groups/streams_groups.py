"""StreamsGroupHeartbeat, StreamsGroupDescribe 0: Kafka Streams by KIP-1071.

A heartbeat may miss topics that the application keeps for itself. They are made beside
it, on behalf of who sent it; the next one finds them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.state.streams.configured import Status
from odradek.broker.coordinator.group.streams.asked import StreamsBeat
from odradek.broker.coordinator.group.streams.check import (
    check_request,
    check_topics,
    topics_named,
)
from odradek.broker.metadata.features import STREAMS_VERSION
from odradek.broker.requests import needs
from odradek.broker.requests.audit import note_auto_created
from odradek.broker.requests.registry import handles
from odradek.broker.runtime.parked import gathered
from odradek.protocol.acls import CLUSTER_NAME, Operation, ResourceType
from odradek.protocol.errors import TopicAuthorizationFailed, UnsupportedVersion
from odradek.protocol.messages.streams_groups import (
    DescribedStreamsGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    StreamsHeartbeatTopology,
)

from .described_groups import Describing, described_groups

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.coordinator.group.state.streams.topology import InternalTopic
    from odradek.broker.coordinator.group.streams.answers import StreamsAnswer
    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.registry import Answer

STREAMS = "streams"
_HIDDEN = (
    "The described group uses topics that the client is not authorized to describe."
)
_TOLD_MAX = 3
_TOLD_FOR_INTERVALS = 2


@handles(
    StreamsGroupHeartbeatRequest,
    versions=(0, 0),
    needs=needs.inside(
        needs.group(Operation.READ),
        needs.topic(Operation.DESCRIBE),
        needs.cluster(Operation.CREATE),
        needs.topic(Operation.CREATE),
    ),
)
def handle_streams_group_heartbeat(
    ctx: RequestContext, request: StreamsGroupHeartbeatRequest
) -> Answer:
    """Answered when everything that it tells is durable; mostly at once.

    Raises:
        UnsupportedVersion: streams groups are switched off.
        KafkaError: who asks may not, or asks for what cannot be.
    """
    off = _why_off(ctx)
    if off is not None:
        raise off
    ctx.require(Operation.READ, ResourceType.GROUP, request.group_id)
    if request.topology is not None:
        _check_topics(ctx, request.topology)
    check_request(request)
    # Kafka writes hosts as Java does, with a slash before the address.
    beat = StreamsBeat(request, ctx.client_id or "", f"/{ctx.peer_host}")

    def finish(answers: list[StreamsAnswer]) -> StreamsGroupHeartbeatResponse:
        (answer,) = answers
        if answer.missing:
            _make(ctx, answer)
        return answer.response

    return gathered([ctx.services.groups.streams.beat(beat)], finish)


def _why_off(ctx: RequestContext) -> UnsupportedVersion | None:
    services = ctx.services
    if services.features.level_of(STREAMS_VERSION) < 1:
        remedy = "set the feature streams.version to 1"
    elif STREAMS not in services.config.group_coordinator_rebalance_protocols:
        remedy = "add streams to group.coordinator.rebalance.protocols"
    else:
        return None
    return UnsupportedVersion(f"Streams groups (KIP-1071) are off: {remedy}")


def _check_topics(ctx: RequestContext, topology: StreamsHeartbeatTopology) -> None:
    names = topics_named(topology)
    check_topics(names)
    if ctx.services.authorizer is not None:
        for name in names:
            if not ctx.may(Operation.DESCRIBE, ResourceType.TOPIC, name):
                raise TopicAuthorizationFailed


def _make(ctx: RequestContext, answer: StreamsAnswer) -> None:
    """Begin to make the topics that are missing, or say why they are not made."""
    missing, response = answer.missing, answer.response
    refused = [each.name for each in missing if not _may_create(ctx, each)]
    if refused:
        why = f"Unauthorized to CREATE on topics {', '.join(refused)}."
    else:
        internal_topics = ctx.services.groups.streams.internal_topics
        told_for_ms = _TOLD_FOR_INTERVALS * response.heartbeat_interval_ms
        failures = internal_topics.refusals(missing)
        internal_topics.make(
            missing, told_for_ms, lambda made: note_auto_created(ctx, made)
        )
        if not failures:
            return
        told = [f"{name} ({error})" for name, error in failures.items()]
        why = f"Creation failed: {', '.join(told[:_TOLD_MAX])}"
        if len(told) > _TOLD_MAX:
            why += f" and {len(told) - _TOLD_MAX} more"
        why += "."
    for status in response.status or ():
        if status.status_code == Status.MISSING_INTERNAL_TOPICS:
            status.status_detail += f"; {why}"


def _may_create(ctx: RequestContext, topic: InternalTopic) -> bool:
    return ctx.sees(Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME) or ctx.may(
        Operation.CREATE, ResourceType.TOPIC, topic.name
    )


@handles(
    StreamsGroupDescribeRequest,
    versions=(0, 0),
    needs=needs.inside(
        needs.group(Operation.DESCRIBE), needs.topic(Operation.DESCRIBE)
    ),
)
def handle_streams_group_describe(
    ctx: RequestContext, request: StreamsGroupDescribeRequest
) -> Answer:
    """Each group is described, or says why not."""
    how = Describing(
        DescribedStreamsGroup,
        _topics_of,
        ctx.services.groups.streams.describe,
        _HIDDEN,
    )
    return described_groups(
        ctx,
        request,
        how,
        _why_off(ctx),
        lambda groups: StreamsGroupDescribeResponse(groups=groups),
    )


def _topics_of(group: DescribedStreamsGroup) -> Iterator[str]:
    if group.topology is None:
        return
    for each in group.topology.subtopologies or ():
        yield from each.source_topics
        yield from each.repartition_sink_topics
        yield from (topic.name for topic in each.repartition_source_topics)
        yield from (topic.name for topic in each.state_changelog_topics)

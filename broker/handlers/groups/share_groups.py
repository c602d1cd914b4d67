"""ShareGroupHeartbeat, ShareGroupDescribe 1: who is in share groups (KIP-932)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.share.answers import refused_share_beat
from odradek.broker.coordinator.group.share.check import check_member_id, check_request
from odradek.broker.coordinator.group.share.heartbeat import ShareBeat
from odradek.broker.coordinator.group.share.steady import (
    is_steady,
    steady_answer,
    steady_of,
)
from odradek.broker.metadata.features import SHARE_VERSION
from odradek.broker.requests import needs
from odradek.broker.requests.registry import handles, shortcut
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import (
    TopicAuthorizationFailed,
    UnsupportedVersion,
)
from odradek.protocol.messages.share_groups import (
    DescribedShareGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

from .described_groups import Describing, described_groups
from .usual_beats import UsualBeat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.steady import Steady
    from odradek.broker.requests.context import ConnectionInfo, RequestContext
    from odradek.broker.requests.registry import Answer
    from odradek.broker.requests.services import Services


@handles(
    ShareGroupHeartbeatRequest,
    versions=(1, 1),
    needs=needs.inside(needs.group(Operation.READ), needs.topic(Operation.DESCRIBE)),
)
def handle_share_group_heartbeat(
    ctx: RequestContext, request: ShareGroupHeartbeatRequest
) -> Answer:
    """Answered when everything that it tells is durable; mostly at once.

    Raises:
        UnsupportedVersion: share groups are switched off.
        KafkaError: who asks may not, or asks for what cannot be.
    """
    off = _why_off(ctx.services)
    if off is not None:
        raise off
    ctx.require(Operation.READ, ResourceType.GROUP, request.group_id)
    check_member_id(request.member_id)
    if ctx.services.authorizer is not None:
        for name in request.subscribed_topic_names or ():
            if not ctx.may(Operation.DESCRIBE, ResourceType.TOPIC, name):
                raise TopicAuthorizationFailed
    check_request(request)
    beat = _beat_of(request, ctx.client_id, ctx.connection)
    return ctx.services.groups.shares.beat(beat, refused_share_beat)


@shortcut(ShareGroupHeartbeatRequest, first_version=1)
class UsualShareBeat(UsualBeat):
    """Heartbeats that say nothing but who lives."""

    __slots__ = ()

    request_class = ShareGroupHeartbeatRequest
    is_steady = staticmethod(is_steady)

    def read(
        self,
        shard: GroupShard,
        request: ShareGroupHeartbeatRequest,
        client_id: str | None,
        connection: ConnectionInfo,
    ) -> tuple[Steady, ShareGroupHeartbeatResponse] | None:
        """What it says, and what it is told; None: it says something else."""
        beat = _beat_of(request, client_id, connection)
        steady = steady_of(shard, beat)
        if steady is None or not _is_on(self._services):
            return None
        return steady, steady_answer(shard, beat)


def _beat_of(
    request: ShareGroupHeartbeatRequest,
    client_id: str | None,
    connection: ConnectionInfo,
) -> ShareBeat:
    # Kafka writes hosts as Java does, with a slash before the address.
    return ShareBeat(request, client_id or "", f"/{connection.peer_host}")


def _is_on(services: Services) -> bool:
    return services.features.level_of(SHARE_VERSION) > 0


def _why_off(services: Services) -> UnsupportedVersion | None:
    if _is_on(services):
        return None
    return UnsupportedVersion(
        "Share groups (KIP-932) are off: set the feature share.version to 1"
    )


@handles(
    ShareGroupDescribeRequest,
    versions=(1, 1),
    needs=needs.inside(
        needs.group(Operation.DESCRIBE), needs.topic(Operation.DESCRIBE)
    ),
)
def handle_share_group_describe(
    ctx: RequestContext, request: ShareGroupDescribeRequest
) -> Answer:
    """Each group is described, or says why not."""
    how = Describing(
        DescribedShareGroup, _topics_of, ctx.services.groups.shares.describe
    )
    return described_groups(
        ctx,
        request,
        how,
        _why_off(ctx.services),
        lambda groups: ShareGroupDescribeResponse(groups=groups),
    )


def _topics_of(group: DescribedShareGroup) -> Iterator[str]:
    for member in group.members:
        yield from member.subscribed_topic_names
        yield from (topic.topic_name for topic in member.assignment.topic_partitions)

"""ConsumerGroupHeartbeat, ConsumerGroupDescribe 0-1: consumer groups (KIP-848).

Where they are switched off the APIs are offered all the same, and refused, as Apache
Kafka does it: were version 1 not offered, librdkafka would wait for it without a word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.consumer.answers import refused_beat
from odradek.broker.coordinator.group.consumer.check import check_request
from odradek.broker.coordinator.group.consumer.heartbeat import Beat
from odradek.broker.coordinator.group.consumer.steady import (
    is_steady,
    steady_answer,
    steady_of,
)
from odradek.broker.metadata.features import GROUP_VERSION
from odradek.broker.requests import needs
from odradek.broker.requests.registry import handles, shortcut
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import (
    TopicAuthorizationFailed,
    UnsupportedVersion,
)
from odradek.protocol.messages.consumer_groups import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DescribedConsumerGroup,
)
from odradek.protocol.uuids import random_uuid, to_text

from .described_groups import Describing, described_groups
from .usual_beats import UsualBeat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.steady import Steady
    from odradek.broker.requests.context import ConnectionInfo, RequestContext
    from odradek.broker.requests.registry import Answer
    from odradek.broker.requests.services import Services

CONSUMER = "consumer"
_REMEDY = "set group.protocol=classic in the client"


@handles(
    ConsumerGroupHeartbeatRequest,
    versions=(0, 1),
    needs=needs.inside(needs.group(Operation.READ), needs.topic(Operation.DESCRIBE)),
)
def handle_consumer_group_heartbeat(
    ctx: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> Answer:
    """Answered when everything that it tells is durable; mostly at once.

    Raises:
        UnsupportedVersion: the protocol is switched off.
        KafkaError: who asks may not, or asks for what cannot be.
    """
    if not _is_on(ctx.services):
        _refuse(ctx, request)
    ctx.require(Operation.READ, ResourceType.GROUP, request.group_id)
    authorizer = ctx.services.authorizer
    if authorizer is not None:
        for name in request.subscribed_topic_names or ():
            if not ctx.may(Operation.DESCRIBE, ResourceType.TOPIC, name):
                raise TopicAuthorizationFailed
    assignors = ctx.services.config.group_consumer_assignors
    check_request(request, ctx.api_version, assignors)
    if not request.member_id:
        request.member_id = to_text(random_uuid())
    beat = _beat_of(request, ctx.client_id, ctx.connection)
    if authorizer is not None:
        beat = beat._replace(
            may_describe=lambda name: ctx.sees(
                Operation.DESCRIBE, ResourceType.TOPIC, name
            )
        )
    return ctx.services.groups.beat(beat, refused_beat)


@shortcut(ConsumerGroupHeartbeatRequest, first_version=0)
class UsualConsumerBeat(UsualBeat):
    """Heartbeats that say nothing but who lives."""

    __slots__ = ()

    request_class = ConsumerGroupHeartbeatRequest
    is_steady = staticmethod(is_steady)

    def read(
        self,
        shard: GroupShard,
        request: ConsumerGroupHeartbeatRequest,
        client_id: str | None,
        connection: ConnectionInfo,
    ) -> tuple[Steady, ConsumerGroupHeartbeatResponse] | None:
        """What it says, and what it is told; None: it says something else."""
        beat = _beat_of(request, client_id, connection)
        steady = steady_of(shard, beat)
        if steady is None or not _is_on(self._services):
            return None
        return steady, steady_answer(shard, beat)


def _beat_of(
    request: ConsumerGroupHeartbeatRequest,
    client_id: str | None,
    connection: ConnectionInfo,
) -> Beat:
    # Kafka writes hosts as Java does, with a slash before the address.
    return Beat(request, client_id or "", f"/{connection.peer_host}")


def _is_on(services: Services) -> bool:
    protocols = services.config.group_coordinator_rebalance_protocols
    return CONSUMER in protocols and services.features.level_of(GROUP_VERSION) > 0


def _refuse(ctx: RequestContext, request: ConsumerGroupHeartbeatRequest) -> None:
    connection = ctx.connection
    ctx.services.client_log.warn_once(
        ("KIP-848", connection.peer_host, connection.peer_port, ctx.client_id),
        f"{ctx.client} wants to join group {request.group_id} by the consumer protocol "
        f"(KIP-848), which is switched off: {_REMEDY}",
    )
    raise UnsupportedVersion(f"The consumer protocol (KIP-848) is off: {_REMEDY}")


@handles(
    ConsumerGroupDescribeRequest,
    versions=(0, 1),
    needs=needs.inside(
        needs.group(Operation.DESCRIBE), needs.topic(Operation.DESCRIBE)
    ),
)
def handle_consumer_group_describe(
    ctx: RequestContext, request: ConsumerGroupDescribeRequest
) -> Answer:
    """Each group is described, or says why not."""
    how = Describing(
        DescribedConsumerGroup,
        _topics_of,
        ctx.services.groups.describe_consumer_group,
    )
    return described_groups(
        ctx,
        request,
        how,
        None if _is_on(ctx.services) else UnsupportedVersion(),
        lambda groups: ConsumerGroupDescribeResponse(groups=groups),
    )


def _topics_of(group: DescribedConsumerGroup) -> Iterator[str]:
    for member in group.members:
        yield from member.subscribed_topic_names
        for assignment in (member.assignment, member.target_assignment):
            yield from (topic.topic_name for topic in assignment.topic_partitions)

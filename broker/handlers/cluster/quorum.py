"""DescribeQuorum 0-2, AddRaftVoter 0-1, RemoveRaftVoter 0: there is one voter.

What Apache Kafka keeps in a log that controllers agree on is in the catalogue here.
It is shown as a log with one entry for each change, led by this broker; no other can
vote on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.requests import needs
from odradek.broker.requests.registry import handles
from odradek.protocol.acls import Operation
from odradek.protocol.errors import (
    ErrorCode,
    InconsistentClusterId,
    InvalidRequest,
    UnsupportedVersion,
)
from odradek.protocol.messages.quorum import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    DescribedQuorumPartition,
    DescribedQuorumTopic,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    QuorumListener,
    QuorumNode,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    ReplicaState,
)
from odradek.protocol.uuids import ZERO_UUID

if TYPE_CHECKING:
    from odradek.broker.requests.context import RequestContext

METADATA_TOPIC = "__cluster_metadata"
# There is no other leader, so there never was another epoch.
LEADER_EPOCH = 1
_ALONE = "this broker is the only one, and has no quorum of controllers"


@handles(
    DescribeQuorumRequest,
    versions=(0, 2),
    needs=needs.before(needs.cluster(Operation.DESCRIBE)),
)
def handle_describe_quorum(
    ctx: RequestContext, request: DescribeQuorumRequest
) -> DescribeQuorumResponse:
    """This broker leads, and has all of it."""
    topics = [
        DescribedQuorumTopic(
            topic_name=topic.topic_name,
            partitions=[
                _partition(ctx, topic.topic_name, each.partition_index)
                for each in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    is_there = any(not each.error_code for topic in topics for each in topic.partitions)
    return DescribeQuorumResponse(topics=topics, nodes=[_node(ctx)] if is_there else [])


def _partition(
    ctx: RequestContext, topic: str, number: int
) -> DescribedQuorumPartition:
    if (topic, number) != (METADATA_TOPIC, 0):
        return DescribedQuorumPartition(
            partition_index=number,
            error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            error_message="This server does not host this topic-partition.",
        )
    services = ctx.services
    end, now_ms = services.metadata.change_count, services.clock.now_ms()
    return DescribedQuorumPartition(
        partition_index=number,
        leader_id=services.node_id,
        leader_epoch=LEADER_EPOCH,
        high_watermark=end,
        current_voters=[
            ReplicaState(
                replica_id=services.node_id,
                log_end_offset=end,
                last_fetch_timestamp=now_ms,
                last_caught_up_timestamp=now_ms,
            )
        ],
    )


def _node(ctx: RequestContext) -> QuorumNode:
    host, port = ctx.advertised_address
    listener = QuorumListener(name=ctx.listener_name, host=host, port=port)
    return QuorumNode(node_id=ctx.services.node_id, listeners=[listener])


@handles(
    AddRaftVoterRequest,
    versions=(0, 1),
    needs=needs.before(needs.cluster(Operation.ALTER)),
)
def handle_add_raft_voter(
    ctx: RequestContext, request: AddRaftVoterRequest
) -> AddRaftVoterResponse:
    """Refuse it, as Apache Kafka does where the voters are fixed.

    Raises:
        InconsistentClusterId: another cluster is meant.
        UnsupportedVersion: always, otherwise.
    """
    _check_cluster(ctx, request.cluster_id)
    raise UnsupportedVersion(f"No voter can be added: {_ALONE}")


@handles(
    RemoveRaftVoterRequest,
    versions=(0, 0),
    needs=needs.before(needs.cluster(Operation.ALTER)),
)
def handle_remove_raft_voter(
    ctx: RequestContext, request: RemoveRaftVoterRequest
) -> RemoveRaftVoterResponse:
    """Refuse it, as Apache Kafka does where the voters are fixed.

    Raises:
        InconsistentClusterId: another cluster is meant.
        InvalidRequest: there is no directory without an id.
        UnsupportedVersion: always, otherwise.
    """
    _check_cluster(ctx, request.cluster_id)
    if request.voter_directory_id == ZERO_UUID:
        raise InvalidRequest("A voter is meant by its id and that of its directory")
    raise UnsupportedVersion(f"No voter can be removed: {_ALONE}")


def _check_cluster(ctx: RequestContext, cluster_id: str | None) -> None:
    ours = ctx.services.cluster_id
    if cluster_id not in (None, ours):
        raise InconsistentClusterId(
            f'The given id "{cluster_id}" is not that of this cluster, "{ours}"'
        )

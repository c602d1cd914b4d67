"""The controllers of a cluster, as one of them, or a broker, describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

from odradek.protocol.messages.quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    QuorumPartition,
    QuorumTopic,
)

from .errors import raise_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.protocol.messages.quorum import ReplicaState
    from odradek.protocol.schema import Request, Response

METADATA_TOPIC: Final = "__cluster_metadata"

_Response = TypeVar("_Response", bound="Response")


class Ask(Protocol):
    """Asks a broker, or a controller."""

    def __call__(
        self, request: Request, response_class: type[_Response], /
    ) -> _Response:
        """The answer."""


class QuorumReplica(NamedTuple):
    """Who has the metadata log, and how far: ``lag`` offsets behind the leader.

    ``behind_ms`` is how long ago it had all that the leader had; None is not known.
    """

    node_id: int
    end_offset: int
    lag: int
    behind_ms: int | None


class Quorum(NamedTuple):
    """Who leads, who votes, and who only reads."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: Sequence[QuorumReplica]
    observers: Sequence[QuorumReplica]


def describe_quorum(ask: Ask) -> Quorum:
    """The quorum, as its leader sees it.

    Raises:
        NotLeaderOrFollower: a controller was asked that does not lead.
        ClusterAuthorizationFailed: we may not ask.
        UnsupportedVersion: the cluster has no such quorum.
    """
    topic = QuorumTopic(topic_name=METADATA_TOPIC, partitions=[QuorumPartition()])
    response = ask(DescribeQuorumRequest(topics=[topic]), DescribeQuorumResponse)
    raise_for(response.error_code, response.error_message)
    (partition,) = response.topics[0].partitions
    raise_for(partition.error_code, partition.error_message)
    states = [*partition.current_voters, *partition.observers]
    leading = [each for each in states if each.replica_id == partition.leader_id]
    end = max((each.log_end_offset for each in leading), default=-1)
    now = max((each.last_caught_up_timestamp for each in leading), default=-1)

    def replicas(found: Sequence[ReplicaState]) -> list[QuorumReplica]:
        return [
            QuorumReplica(
                each.replica_id,
                each.log_end_offset,
                max(0, end - each.log_end_offset),
                _behind(each.last_caught_up_timestamp, now),
            )
            for each in sorted(found, key=lambda state: state.replica_id)
        ]

    return Quorum(
        partition.leader_id,
        partition.leader_epoch,
        partition.high_watermark,
        replicas(partition.current_voters),
        replicas(partition.observers),
    )


def _behind(caught_up_ms: int, now_ms: int) -> int | None:
    return None if min(caught_up_ms, now_ms) < 0 else max(0, now_ms - caught_up_ms)

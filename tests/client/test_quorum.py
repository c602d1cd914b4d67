from typing import Any

import pytest

from odradek.client.cluster import Cluster
from odradek.client.quorum import QuorumReplica, describe_quorum
from odradek.protocol.errors import ClusterAuthorizationFailed, NotLeaderOrFollower
from odradek.protocol.messages.quorum import (
    DescribedQuorumPartition,
    DescribedQuorumTopic,
    DescribeQuorumResponse,
    ReplicaState,
)


def answer(**fields: Any) -> Any:
    topic = DescribedQuorumTopic(partitions=[DescribedQuorumPartition(**fields)])
    return lambda *_: DescribeQuorumResponse(topics=[topic])


def replica(node_id: int, end_offset: int, caught_up_ms: int = -1) -> ReplicaState:
    return ReplicaState(
        replica_id=node_id,
        log_end_offset=end_offset,
        last_caught_up_timestamp=caught_up_ms,
    )


def test_lag_is_counted_from_the_leader_by_its_own_clock() -> None:
    quorum = describe_quorum(
        answer(
            leader_id=2,
            leader_epoch=4,
            high_watermark=9,
            current_voters=[replica(3, 12), replica(2, 10, 5000)],
            observers=[replica(7, 4, 4200), replica(5, 10, 5001)],
        )
    )
    assert (quorum.leader_id, quorum.leader_epoch, quorum.high_watermark) == (2, 4, 9)
    assert quorum.voters == [
        QuorumReplica(2, 10, 0, 0),
        QuorumReplica(3, 12, 0, None),
    ]
    assert quorum.observers == [
        QuorumReplica(5, 10, 0, 0),
        QuorumReplica(7, 4, 6, 800),
    ]


def test_who_does_not_lead_or_does_not_let_us_ask_says_so() -> None:
    with pytest.raises(NotLeaderOrFollower):
        describe_quorum(answer(error_code=6))
    with pytest.raises(ClusterAuthorizationFailed):
        describe_quorum(lambda *_: DescribeQuorumResponse(error_code=31))  # type: ignore[arg-type]


def test_a_broker_of_ours_is_a_quorum_of_one(cluster: Cluster) -> None:
    quorum = describe_quorum(cluster.request)
    assert [each.node_id for each in quorum.voters] == [quorum.leader_id]
    assert quorum.observers == []

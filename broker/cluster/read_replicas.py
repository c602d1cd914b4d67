"""Which replica a consumer is sent to that says in which rack it is (KIP-392)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.replica.partition.replication import Replication

if TYPE_CHECKING:
    from odradek.broker.replica.partition.follower import Follower
    from odradek.broker.replica.partition.partition import Partition

    from .view import ClusterView


class RackAwareReplicas:
    """Sends consumers to a replica in their own rack, where the leader is in another.

    As Apache Kafka's RackAwareReplicaSelector: of those in sync that have what is asked
    for it is the one that has most.
    """

    def __init__(self, own_rack: str | None) -> None:
        self._own_rack = own_rack

    def preferred(
        self,
        cluster: ClusterView,
        listener_name: str,
        rack: str,
        partition: Partition,
        fetch_offset: int,
    ) -> int | None:
        """Whom to ask; None: this broker, or who it says does not lead here."""
        replication, leadership = partition.replication, partition.leadership
        if (
            rack == self._own_rack
            or not isinstance(replication, Replication)
            or leadership.refusal is not None
            or not leadership.replicas.is_leader
        ):
            return None
        near = [
            follower
            for follower in replication.followers.values()
            if follower.broker_id in leadership.replicas.in_sync
            and follower.log_start_offset <= fetch_offset <= follower.end.offset
            and (known := cluster.broker(follower.broker_id, listener_name)) is not None
            and known.rack == rack
        ]
        return max(near, key=_rank).broker_id if near else None


def _rank(follower: Follower) -> tuple[int, int, int]:
    return follower.end.offset, follower.caught_up_ms, follower.broker_id

"""A controller that decides as Apache Kafka's does, of one partition with three copies.

Eligible leader replicas are on (KIP-966): who was in sync when too few were left may
lead, for it has all that was acknowledged.
"""

from odradek.broker.replica.partition.replica_state import LeaderAndIsr
from odradek.protocol.errors import (
    FencedLeaderEpoch,
    IneligibleReplica,
    InvalidUpdateVersion,
    KafkaError,
)

NODES = (1, 2, 3)
MIN_INSYNC = 2
NOBODY = -1


class Controller:
    """Who leads, by the rules of Kafka's."""

    def __init__(self) -> None:
        self.decided = LeaderAndIsr(1, 0, NODES, NODES, 0)
        self.eligible: frozenset[int] = frozenset()
        self.alive: set[int] = set()

    def fence(self, node_id: int) -> None:
        self.alive.discard(node_id)
        if node_id in self.decided.in_sync:
            self._decide(tuple(x for x in self.decided.in_sync if x != node_id))
        elif self.decided.leader == node_id:
            self._decide(self.decided.in_sync)

    def unfence(self, node_id: int) -> None:
        self.alive.add(node_id)
        if self.decided.leader == NOBODY:
            self._decide(self.decided.in_sync)

    def alter(self, node_id: int, wanted: LeaderAndIsr) -> LeaderAndIsr | KafkaError:
        known = self.decided
        if node_id != known.leader or wanted.leader_epoch != known.leader_epoch:
            return FencedLeaderEpoch()
        if wanted.partition_epoch != known.partition_epoch:
            return InvalidUpdateVersion()
        if not set(wanted.in_sync) <= self.alive:
            return IneligibleReplica()
        self._decide(wanted.in_sync)
        return self.decided

    def _decide(self, in_sync: tuple[int, ...]) -> None:
        known = self.decided
        removed = set(known.in_sync) - set(in_sync)
        eligible = (self.eligible | removed) - set(in_sync)
        leader = known.leader
        if leader not in self.alive or leader not in in_sync:
            leader = next((x for x in in_sync if x in self.alive), NOBODY)
        if leader == NOBODY:
            leader = next((x for x in sorted(eligible) if x in self.alive), NOBODY)
            if leader != NOBODY:
                in_sync, eligible = (leader,), eligible - {leader}
        if len(in_sync) >= MIN_INSYNC:
            eligible = set()
        self.eligible = frozenset(eligible)
        self.decided = known._replace(
            leader=leader,
            leader_epoch=known.leader_epoch + (leader != known.leader),
            in_sync=in_sync,
            partition_epoch=known.partition_epoch + 1,
        )

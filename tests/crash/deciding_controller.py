"""Controllers that decide as Apache Kafka's do, of partitions with three copies.

Eligible leader replicas are on (KIP-966): who was in sync when too few were left may
lead, for it has all that was acknowledged. Who shall be in sync is named with the
registration in which it was when the leader heard from it (KIP-903).
"""

from collections.abc import Iterable, Mapping

from odradek.broker.replica.partition.replica_state import LeaderAndIsr
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.alter_partition import (
    AlteredPartition,
    AlteredTopic,
    AlterPartitionData,
    AlterPartitionRequest,
    AlterPartitionResponse,
)
from odradek.protocol.topic_partition import TopicPartition

NODES = (1, 2, 3)
MIN_INSYNC = 2
NOBODY = -1
ANY_EPOCH = -1
TOPIC_ID = b"T" * 16


class Controller:
    """Who leads one partition, by the rules of Kafka's."""

    def __init__(self, leader: int, alive: Mapping[int, int]) -> None:
        """``alive``: the brokers that are not fenced, with their epochs."""
        self.decided = LeaderAndIsr(leader, 0, NODES, NODES, 0)
        self.eligible: frozenset[int] = frozenset()
        self._alive = alive

    def note_fenced(self, node_id: int) -> None:
        if node_id in self.decided.in_sync:
            self._decide(tuple(x for x in self.decided.in_sync if x != node_id))
        elif self.decided.leader == node_id:
            self._decide(self.decided.in_sync)

    def note_alive(self) -> None:
        if self.decided.leader == NOBODY:
            self._decide(self.decided.in_sync)

    def note_lost(self, node_id: int) -> None:
        """What it had is gone: it is in sync no more, nor may it lead."""
        self.eligible -= {node_id}
        self._decide(tuple(x for x in self.decided.in_sync if x != node_id))
        self.eligible -= {node_id}

    def elect(self, node_id: int) -> None:
        """Have it lead, if it is in sync."""
        known = self.decided
        if node_id in known.in_sync and node_id not in (known.leader, NOBODY):
            self.decided = known._replace(
                leader=node_id,
                leader_epoch=known.leader_epoch + 1,
                partition_epoch=known.partition_epoch + 1,
            )

    def alter(self, node_id: int, wanted: AlterPartitionData) -> AlteredPartition:
        known = self.decided
        answer = AlteredPartition(partition_index=wanted.partition_index)
        if node_id != known.leader or wanted.leader_epoch != known.leader_epoch:
            answer.error_code = ErrorCode.FENCED_LEADER_EPOCH
        elif wanted.partition_epoch != known.partition_epoch:
            answer.error_code = ErrorCode.INVALID_UPDATE_VERSION
        elif any(
            each.broker_id not in self._alive
            or each.broker_epoch not in (ANY_EPOCH, self._alive[each.broker_id])
            for each in wanted.new_isr_with_epochs
        ):
            answer.error_code = ErrorCode.INELIGIBLE_REPLICA
        else:
            self._decide(tuple(each.broker_id for each in wanted.new_isr_with_epochs))
            decided = self.decided
            answer.leader_id, answer.leader_epoch = decided.leader, decided.leader_epoch
            answer.isr = list(decided.in_sync)
            answer.partition_epoch = decided.partition_epoch
        return answer

    def _decide(self, in_sync: tuple[int, ...]) -> None:
        known = self.decided
        removed = set(known.in_sync) - set(in_sync)
        eligible = (self.eligible | removed) - set(in_sync)
        leader = known.leader
        if leader not in self._alive or leader not in in_sync:
            able = [x for x in known.replicas if x in in_sync and x in self._alive]
            leader = able[0] if able else NOBODY
        if leader == NOBODY:
            leader = next((x for x in sorted(eligible) if x in self._alive), NOBODY)
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


class Controllers:
    """They decide on all partitions of a topic, and know which brokers are there."""

    def __init__(self, places: Iterable[TopicPartition]) -> None:
        self.alive: dict[int, int] = {}  # brokers, and the epochs of their registration
        self._of = {
            place: Controller(NODES[place.partition % len(NODES)], self.alive)
            for place in places
        }

    @property
    def decided(self) -> dict[TopicPartition, LeaderAndIsr]:
        return {place: each.decided for place, each in self._of.items()}

    def fence(self, node_id: int) -> None:
        self.alive.pop(node_id, None)
        for each in self._of.values():
            each.note_fenced(node_id)

    def unfence(self, node_id: int, broker_epoch: int) -> None:
        self.alive[node_id] = broker_epoch
        for each in self._of.values():
            each.note_alive()

    def note_lost(self, node_id: int) -> None:
        for each in self._of.values():
            each.note_lost(node_id)

    def elect(self, place: TopicPartition, node_id: int) -> None:
        if node_id in self.alive:
            self._of[place].elect(node_id)

    def alter(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        node_id = request.broker_id
        if self.alive.get(node_id) != request.broker_epoch:
            return AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
        answers = [
            AlteredTopic(
                topic_id=topic.topic_id,
                partitions=[
                    controller.alter(node_id, each)
                    for each in topic.partitions
                    for place, controller in self._of.items()
                    if place.partition == each.partition_index
                ],
            )
            for topic in request.topics
        ]
        return AlterPartitionResponse(topics=answers)

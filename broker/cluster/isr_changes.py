"""Changes of the in-sync replicas, on their way to the controller.

No I/O, no clock: `next_request` says what to ask, `take` takes the answer and says when
to ask again, `lost` is told when there is none.

Invariants: there is one request at a time, for all partitions. One proposal of a
partition waits; a newer one takes its place. Who has made one hears the answer also
when a newer one waits: the controller may have agreed to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.broker.replica.partition.replica_state import LeaderAndIsr
from odradek.protocol.errors import ErrorCode, KafkaError, error_class
from odradek.protocol.messages.alter_partition import (
    AlterPartitionData,
    AlterPartitionRequest,
    AlterPartitionTopic,
    BrokerState,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.protocol.messages.alter_partition import (
        AlteredPartition,
        AlterPartitionResponse,
    )

    Place = tuple[bytes, int]  # topic id and partition
    OnAnswer = Callable[[LeaderAndIsr | KafkaError], object]

ANY_EPOCH: Final = -1
NOW_MS: Final = 0
_WHILE_UNREGISTERED_MS: Final = 50
_LATER_MS: Final = 100
# Said of one partition, it is the controller that is another one by now.
_ASK_AGAIN: Final = (ErrorCode.NOT_CONTROLLER, ErrorCode.UNKNOWN_SERVER_ERROR)


class Proposal(NamedTuple):
    """Who shall be in sync, and who hears what became of it."""

    wanted: LeaderAndIsr
    on_answer: OnAnswer


class IsrChanges:
    """What the leaders here have proposed."""

    def __init__(self, node_id: int) -> None:
        self._node_id = node_id
        self._waiting: dict[Place, Proposal] = {}
        self._asked: dict[Place, Proposal] = {}

    def propose(
        self, topic_id: bytes, number: int, wanted: LeaderAndIsr, on_answer: OnAnswer
    ) -> None:
        """Ask the controller for this, instead of what was proposed before."""
        self._waiting[topic_id, number] = Proposal(wanted, on_answer)

    def propose_besides(
        self, topic_id: bytes, number: int, wanted: LeaderAndIsr, on_answer: OnAnswer
    ) -> None:
        """The same, unless a proposal of this state waits: any of them says as much."""
        waiting = self._waiting.get((topic_id, number))
        if waiting is None or waiting.wanted.partition_epoch < wanted.partition_epoch:
            self.propose(topic_id, number, wanted, on_answer)

    def next_request(self, broker_epoch: int) -> AlterPartitionRequest | None:
        """All that waits; None: nothing does. ``broker_epoch`` is our own.

        Others are meant as they were when it was proposed, not as they are by now: one
        that was started anew since may have lost what it had.
        """
        self._asked, self._waiting = self._waiting, {}
        if not self._asked:
            return None
        topics: dict[bytes, list[AlterPartitionData]] = {}
        for (topic_id, number), (wanted, _) in self._asked.items():
            asked = AlterPartitionData(
                partition_index=number,
                leader_epoch=wanted.leader_epoch,
                new_isr=list(wanted.in_sync),
                new_isr_with_epochs=self._in_sync(wanted, broker_epoch),
                partition_epoch=wanted.partition_epoch,
            )
            topics.setdefault(topic_id, []).append(asked)
        return AlterPartitionRequest(
            broker_id=self._node_id,
            broker_epoch=broker_epoch,
            topics=[
                AlterPartitionTopic(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in topics.items()
            ],
        )

    def _in_sync(self, wanted: LeaderAndIsr, broker_epoch: int) -> list[BrokerState]:
        epochs = dict(zip(wanted.in_sync, wanted.broker_epochs, strict=False))
        epochs[self._node_id] = broker_epoch
        return [
            BrokerState(broker_id=each, broker_epoch=epochs.get(each, ANY_EPOCH))
            for each in wanted.in_sync
        ]

    def lost(self) -> int:
        """There was no answer: ask for the same again, after so many milliseconds."""
        self._waiting = {**self._asked, **self._waiting}
        self._asked = {}
        return _LATER_MS

    def take(self, response: AlterPartitionResponse) -> int:
        """Hand out the answers. Returns after how many milliseconds to ask again."""
        if response.error_code:
            is_unregistered = response.error_code == ErrorCode.STALE_BROKER_EPOCH
            self.lost()
            return _WHILE_UNREGISTERED_MS if is_unregistered else _LATER_MS
        asked, self._asked = self._asked, {}
        wait_ms = NOW_MS
        for topic in response.topics:
            for answer in topic.partitions:
                place = bytes(topic.topic_id), answer.partition_index
                proposal = asked.pop(place, None)
                if proposal is None:
                    continue
                if answer.error_code:
                    wait_ms = _LATER_MS  # it may be proposed again at once
                if answer.error_code in _ASK_AGAIN:
                    self._waiting.setdefault(place, proposal)
                else:
                    proposal.on_answer(_decided(proposal.wanted, answer))
        for place, proposal in asked.items():  # of which nothing was said
            self._waiting.setdefault(place, proposal)
            wait_ms = _LATER_MS
        return wait_ms


def _decided(
    wanted: LeaderAndIsr, answer: AlteredPartition
) -> LeaderAndIsr | KafkaError:
    if answer.error_code:
        return error_class(answer.error_code)()
    return LeaderAndIsr(
        answer.leader_id,
        answer.leader_epoch,
        wanted.replicas,
        tuple(answer.isr),
        answer.partition_epoch,
    )

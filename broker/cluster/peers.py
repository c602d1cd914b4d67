"""The other brokers, as those ask about them who lead a partition here."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, Protocol
from weakref import WeakSet

from odradek.broker.replica.partition.replication import Replication
from odradek.protocol.errors import KafkaError

from .asked_in_turn import AskedInTurn
from .isr_changes import IsrChanges

if TYPE_CHECKING:
    from odradek.broker.quorum.image.image import BrokerImage, HasImage
    from odradek.broker.replica.partition.follower import Reads
    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.replica.partition.replica_state import LeaderAndIsr
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.messages.alter_partition import (
        AlterPartitionRequest,
        AlterPartitionResponse,
    )

ANY_EPOCH = -1
_RECOVERED_AGAIN_MS: Final = 1_000


class Controller(Protocol):
    """Who decides on in-sync replicas."""

    @property
    def broker_epoch(self) -> int:
        """Of this broker's registration."""

    async def alter_partitions(
        self, request: AlterPartitionRequest
    ) -> AlterPartitionResponse:
        """The answer of the controller that leads."""


class IsrCounts:
    """What became of changes of in-sync replicas that leaders here have proposed."""

    def __init__(self) -> None:
        self.shrink_count = self.expand_count = self.failed_count = 0

    def note(
        self,
        before: tuple[int, ...],
        proposal: LeaderAndIsr,
        answer: LeaderAndIsr | KafkaError,
    ) -> None:
        """``before``: those that were in sync when it was proposed."""
        if isinstance(answer, KafkaError):
            self.failed_count += 1
        elif len(proposal.in_sync) < len(before):
            self.shrink_count += 1
        else:
            self.expand_count += 1


class Peers:
    """What is known of them by the newest image; and what is proposed of them.

    It is what a partition's `Replication` asks.
    """

    def __init__(
        self,
        node_id: int,
        lag_max_ms: int,
        source: HasImage,
        controller: Controller,
        clock: Clock,
        bugs: Bugs,
    ) -> None:
        self.node_id = node_id
        self.lag_max_ms = lag_max_ms
        self.reads: defaultdict[int, WeakSet[Reads]] = defaultdict(WeakSet)
        self._source = source
        self._controller = controller
        self._clock = clock
        self._bugs = bugs
        self.counts = IsrCounts()
        self._changes = IsrChanges(node_id)
        self.asked = AskedInTurn(self, "in-sync replicas", clock, bugs)

    def now_ms(self) -> int:
        """The time, for lags."""
        return self._clock.monotonic_ms()

    def is_alive(self, broker_id: int) -> bool:
        """Whether the broker is registered and not fenced."""
        found = self._broker(broker_id)
        return found is not None and not found.is_fenced

    def may_be_in_sync(self, broker_id: int, broker_epoch: int) -> bool:
        """Whether it is neither fenced nor stopping, nor another start of it."""
        found = self._broker(broker_id)
        return (
            found is not None
            and not found.is_fenced
            and not found.is_stopping
            and broker_epoch in (ANY_EPOCH, found.epoch)
        )

    def alter_in_sync(self, partition: Partition, proposal: LeaderAndIsr) -> None:
        """Ask the controller; `Replication.on_answer` gets what it says."""

        before = partition.leadership.replicas.in_sync

        def on_answer(answer: LeaderAndIsr | KafkaError) -> None:
            self.counts.note(before, proposal, answer)
            if not isinstance(partition.replication, Replication):
                return
            try:
                partition.replication.on_answer(proposal, answer)
            except Exception as error:  # the other partitions hear of theirs
                self._bugs.record("an answer about in-sync replicas", error)

        number = partition.topic_partition.partition
        self._changes.propose(partition.topic_id, number, proposal, on_answer)
        self.asked.want()

    def note_recovered(
        self, topic_id: bytes, number: int, decided: LeaderAndIsr
    ) -> None:
        """What an unclean election has left to us is in order: say so.

        What became of it the metadata say. Who is refused asks again later.
        """

        def again() -> None:
            if self._is_recovering(topic_id, number, decided):
                self.note_recovered(topic_id, number, decided)

        def on_answer(answer: LeaderAndIsr | KafkaError) -> None:
            if isinstance(answer, KafkaError):
                self._clock.call_later(_RECOVERED_AGAIN_MS, again)

        self._changes.propose_besides(topic_id, number, decided, on_answer)
        self.asked.want()

    def _is_recovering(
        self, topic_id: bytes, number: int, decided: LeaderAndIsr
    ) -> bool:
        """Whether the controllers say so, and have decided nothing since."""
        found = self._source.image.partition(topic_id, number)
        return (
            found is not None
            and found.leader_recovery_state != 0
            and found.partition_epoch == decided.partition_epoch
        )

    async def ask(self) -> int | None:
        """Ask the controller for what is proposed."""
        request = self._changes.next_request(self._controller.broker_epoch)
        if request is None:
            return None
        return self._changes.take(await self._controller.alter_partitions(request))

    def lost(self) -> int:
        """It has not answered: what was proposed is proposed still."""
        return self._changes.lost()

    def _broker(self, broker_id: int) -> BrokerImage | None:
        return self._source.image.brokers.get(broker_id)

"""The transactional ids of one partition of ``__transaction_state``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from odradek.protocol.errors import InvalidProducerIdMapping

from . import records
from .states import TransactionState

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.coordinator.decision import Decision, Place
    from odradek.broker.coordinator.shard import Shard
    from odradek.broker.coordinator.timers import Timers
    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.errors import KafkaError
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.storage.files.files import Buffer

    from .transaction import Transaction


class Markers(NamedTuple):
    """The ends of one transaction: one marker for each of its partitions.

    ``coordinator`` is the partition of ``__transaction_state`` whose leader epoch is
    the coordinator epoch of the markers; ``client_version`` that of
    ``transaction.version`` which the transaction was made in.
    """

    coordinator: TopicPartition
    transactional_id: str
    producer_id: int
    producer_epoch: int
    is_commit: bool
    partitions: tuple[TopicPartition, ...]
    client_version: int = 0


class MarkerWriter(Protocol):
    """Writes the markers that end transactions."""

    def write(self, markers: Markers, on_done: Callable[[], object]) -> None:
        """Write every marker; then, and only then, call ``on_done``, once.

        Done is a partition whose marker is durable; one that is no more; and one that
        refuses the marker because of a higher epoch, which has ended the transaction
        there. Everything else is tried again for as long as it takes. ``on_done`` is
        called in a later turn of the loop. Markers that are written again, after a
        crash, change nothing.
        """


class ProducerIdSource(Protocol):
    """Where new producer ids come from."""

    def take(self) -> int:
        """A producer id that nobody had before.

        Raises:
            CoordinatorLoadInProgress: none is at hand; a block is on its way.
        """


class TransactionShard:
    """What the records of one partition add up to; see `ShardState`.

    The decisions about it are functions of their own modules (`init_producer`,
    `add_partitions`, `end` ...), which are given the shard.
    """

    def __init__(
        self,
        shard: Shard[TransactionShard],
        config: BrokerConfig,
        clock: Clock,
        producer_ids: ProducerIdSource,
        marker_writer: MarkerWriter,
    ) -> None:
        self.config = config
        self.clock = clock
        self.producer_ids = producer_ids
        self.marker_writer = marker_writer
        self.timers: Timers = shard.timers
        self.topic_partition = shard.topic_partition
        self.transactions: dict[str, Transaction] = {}
        self.when_loaded: list[Callable[[TransactionShard], object]] = []
        # Told of each transactional id that has changed; mostly nobody.
        self.watchers: list[Callable[[records.TransactionRecord], object]] = []
        self.is_over = False  # it is another broker's, or to be loaded anew
        self._shard = shard
        self._awaiting: dict[str, dict[object, Callable[[], object]]] = {}

    def get(self, transactional_id: str) -> Transaction | None:
        """What is known of a transactional id."""
        return self.transactions.get(transactional_id)

    def found(self, transactional_id: str) -> Transaction:
        """What is known of a transactional id that a producer uses.

        Raises:
            InvalidProducerIdMapping: nothing.
        """
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            raise InvalidProducerIdMapping
        return transaction

    def act(
        self,
        decide: Callable[[TransactionShard], Decision],
        refuse: Callable[[KafkaError], object],
    ) -> None:
        """Decide something that nobody has asked for."""
        self._shard.act(decide, refuse)

    def await_end(
        self, transactional_id: str, patience_ms: int, action: Callable[[], object]
    ) -> None:
        """Call ``action`` once: when what is being ended has ended, or out of patience.

        It is called in a later turn of the loop.
        """
        key = object()
        self._awaiting.setdefault(transactional_id, {})[key] = action
        self.timers.start(
            key, patience_ms, partial(self._stop_awaiting, transactional_id, key)
        )

    def _stop_awaiting(self, transactional_id: str, key: object) -> None:
        awaiting = self._awaiting.get(transactional_id, {})
        action = awaiting.pop(key, None)
        if action is None:
            return  # told, and out of patience, in the same turn
        if not awaiting:
            del self._awaiting[transactional_id]
        action()

    def _tell_awaiting(self, transactional_id: str) -> None:
        for key in self._awaiting.get(transactional_id, ()):
            self.timers.start(
                key, 0, partial(self._stop_awaiting, transactional_id, key)
            )

    # ShardState

    def decode(self, key: Buffer, value: Buffer | None) -> Any:
        """The record; None for one of a kind that is not kept here."""
        return records.decode(key, value)

    def replay(self, record: Any, place: Place) -> None:
        """Apply one record."""
        assert isinstance(record, records.TransactionRecord)
        if record.transaction is None:
            self.transactions.pop(record.transactional_id, None)
        else:
            self.transactions[record.transactional_id] = record.transaction
            if self._awaiting and not record.transaction.state.is_prepared:
                self._tell_awaiting(record.transactional_id)
        for watcher in self.watchers:
            watcher(record)

    def end_transaction(self, place: Place, is_commit: bool) -> None:
        """Nothing: this log has no transactions of its own."""

    def summary(self) -> dict[str, int]:
        """Its transactional ids, and how many of them are in a transaction."""
        states = [each.state for each in self.transactions.values()]
        return {
            "transactional id": len(states),
            "open transaction": states.count(TransactionState.ONGOING),
            "prepared transaction": sum(state.is_prepared for state in states),
        }

    def on_loaded(self) -> None:
        """Go on with what was prepared."""
        for action in self.when_loaded:
            action(self)

    def on_unloaded(self, error: KafkaError) -> None:
        """Let who waits for an end ask again, which is refused."""
        self.is_over = True
        for awaiting in list(self._awaiting.values()):
            for action in list(awaiting.values()):
                action()
        self._awaiting.clear()

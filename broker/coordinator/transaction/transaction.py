"""A transactional id: its producer, and the transaction that it is in.

A value: what happens to it makes another one, which a record carries into the log and
`replay` into the state. Invariants: the epoch of a producer id never goes back, and
a new producer id begins with epoch 0; each change of state is one of `TRANSITIONS`.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.coordinator.decision import NO_PRODUCER, ProducerIdentity

from .states import TransactionEvent, TransactionState, state_after

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.protocol.topic_partition import TopicPartition

NO_EPOCH = -1
NO_TIME = -1
EPOCH_MAX = (1 << 15) - 1
# The last epoch that a producer is given; the one above is left to fence it with.
LAST_EPOCH = EPOCH_MAX - 1
# ``client_version`` from which every end of a transaction bumps the epoch (KIP-890).
BUMPS_EPOCH = 2


class EndedBy(Enum):
    """Who has decided how the last transaction ends."""

    UNKNOWN = "unknown"
    """A record does not say: it was loaded."""
    PRODUCER = "producer"
    TIMEOUT = "timeout"
    ANOTHER_PRODUCER = "another producer"
    """It has taken the transactional id over."""


class Transaction(NamedTuple):
    """What is known of a transactional id; times in milliseconds since 1970.

    ``next_producer_id`` is prepared when the epochs of the present one are used up:
    it takes over when the transaction is complete. ``client_version`` is that of
    ``transaction.version`` which the client speaks.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    last_update_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: tuple[TopicPartition, ...] = ()
    start_ms: int = NO_TIME
    previous_producer_id: int = NO_PRODUCER
    next_producer_id: int = NO_PRODUCER
    next_producer_epoch: int = NO_EPOCH
    client_version: int = 0
    # Not in the log: after loading, who tries something again may be told less.
    last_producer_epoch: int = NO_EPOCH
    ended_by: EndedBy = EndedBy.UNKNOWN

    @property
    def producer(self) -> ProducerIdentity:
        """Who may write now."""
        return ProducerIdentity(self.producer_id, self.producer_epoch)

    @property
    def successor(self) -> ProducerIdentity:
        """Who may write when this transaction is complete."""
        if self.next_producer_id != NO_PRODUCER:
            return ProducerIdentity(self.next_producer_id, 0)
        return ProducerIdentity(self.producer_id, self.producer_epoch)

    @property
    def is_exhausted(self) -> bool:
        """Whether the producer id has no epoch left to give."""
        return self.producer_epoch >= LAST_EPOCH

    @property
    def next_epoch(self) -> int:
        """The epoch that shuts the present one out."""
        return min(self.producer_epoch + 1, EPOCH_MAX)

    def has_all(self, partitions: Iterable[TopicPartition]) -> bool:
        """Whether all of them take part."""
        return set(self.partitions).issuperset(partitions)

    def has_rotated_from(self, producer: ProducerIdentity) -> bool:
        """Whether the present id is new, and ``producer`` had the last epoch before."""
        return (
            producer == (self.previous_producer_id, LAST_EPOCH)
            and self.producer_id != producer.producer_id
            and self.producer_epoch == 0
        )

    def begun_with(
        self, partitions: Iterable[TopicPartition], client_version: int, now_ms: int
    ) -> Transaction:
        """The transaction, begun if need be, with these partitions in it as well."""
        is_new = self.state is not TransactionState.ONGOING
        return self._after(
            TransactionEvent.PARTITIONS_ADDED,
            now_ms,
            partitions=tuple(dict.fromkeys((*self.partitions, *partitions))),
            start_ms=now_ms if is_new else self.start_ms,
            client_version=client_version,
        )

    def prepared(
        self, is_commit: bool, now_ms: int, ended_by: EndedBy, **changes: Any
    ) -> Transaction:
        """The transaction, when it is decided how it ends."""
        event = (
            TransactionEvent.COMMIT_DECIDED
            if is_commit
            else TransactionEvent.ABORT_DECIDED
        )
        if self.state is not TransactionState.ONGOING:
            changes["start_ms"] = now_ms
        return self._after(event, now_ms, ended_by=ended_by, **changes)

    def completed(self, now_ms: int) -> Transaction:
        """The transaction, when every partition has its marker."""
        producer_id, producer_epoch = self.successor
        return self._after(
            TransactionEvent.MARKERS_WRITTEN,
            now_ms,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            next_producer_id=NO_PRODUCER,
            partitions=(),
        )

    def given_to(
        self,
        producer: ProducerIdentity,
        last_producer_epoch: int,
        timeout_ms: int,
        now_ms: int,
    ) -> Transaction:
        """The transactional id in the hands of a producer that has just begun."""
        return self._after(
            TransactionEvent.PRODUCER_BEGUN,
            now_ms,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            last_producer_epoch=last_producer_epoch,
            timeout_ms=timeout_ms,
            start_ms=NO_TIME,
            partitions=(),
            ended_by=EndedBy.UNKNOWN,
        )

    def _after(
        self, event: TransactionEvent, now_ms: int, **changes: Any
    ) -> Transaction:
        # What `_replace` does, in a third of the time: a transaction does it thrice.
        fields: list[Any] = list(self)
        fields[_STATE] = state_after(self.state, event)
        fields[_LAST_UPDATE], fields[_PREVIOUS_ID] = now_ms, self.producer_id
        for name, value in changes.items():
            fields[_PLACES[name]] = value
        changed = _new(Transaction, fields)
        assert (
            changed.producer_id != self.producer_id
            or changed.producer_epoch >= self.producer_epoch
        ), (self, changed)
        return changed


_PLACES = {name: place for place, name in enumerate(Transaction._fields)}
_STATE, _LAST_UPDATE = _PLACES["state"], _PLACES["last_update_ms"]
_PREVIOUS_ID = _PLACES["previous_producer_id"]
_new = tuple.__new__

"""What a coordinator decides about one request; the runtime does it.

A decision changes nothing. Its records are appended to the coordinator's log and
replayed into its state in the same breath; the answer leaves when they are durable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from odradek.protocol.errors import KafkaError
    from odradek.storage.files.files import Buffer
    from odradek.storage.producers.verification_state import VerificationGuard

NO_PRODUCER = -1


class CoordinatorRecord(Protocol):
    """A change of a coordinator's state, as its log keeps it."""

    def encode(self) -> tuple[bytes, bytes | None]:
        """Key and value; the value of a tombstone is None."""


class Place(NamedTuple):
    """Where a record is in the log, when it was written, and in which transaction."""

    offset: int
    timestamp: int
    producer_id: int = NO_PRODUCER
    producer_epoch: int = -1


class ProducerIdentity(NamedTuple):
    """The transactional producer on whose behalf records are written."""

    producer_id: int
    producer_epoch: int


@dataclass(slots=True)
class Decision:
    """What is to be written, what is answered, and what happens behind that.

    - ``records`` go into one batch; a decision without any writes nothing.
    - ``response`` leaves when the records are durable. A `Parked` one is answered by
      whoever made it; it only passes through here.
    - ``reads_state``: without records, the answer tells what was replayed, and waits
      until everything that the log had then is durable, or may be lost.
    - ``then`` runs once the records are durable, in a later turn of the loop.
    - ``undo`` runs when they are not, and will not be, in the log; what the records
      would have changed has not happened.
    - ``is_replayed`` is False for state that only decisions know (a classic group's
      members), which they have changed themselves.
    - ``may_be_lost``: the answer leaves before the records are durable, unless the
      owner asks for a sync of each append; who reads does not wait for them either.
      Whoever was forgotten by a loss of power is refused, and joins again. What is
      lost is the end of the log, so no later record is there that builds on it.
    - ``producer``: the records are part of its transaction. ``guard`` is what
      `Shard.start_verification` gave before the transaction was asked about.
    """

    response: Any = None
    records: Sequence[CoordinatorRecord] = ()
    reads_state: bool = False
    then: Callable[[], object] | None = None
    undo: Callable[[KafkaError], object] | None = None
    is_replayed: bool = True
    may_be_lost: bool = False
    producer: ProducerIdentity | None = None
    guard: VerificationGuard | None = None


class TakenBatches(NamedTuple):
    """Batches of which a state makes more than the sum of their records.

    They end at ``position``, and at ``next_offset``. They are applied when ``steps``
    were gone through, each of which takes less than a millisecond.
    """

    position: int
    next_offset: int
    record_count: int
    steps: Iterator[object]


@runtime_checkable
class BatchTaker(Protocol):
    """State that can apply many batches at once, faster than record by record."""

    def take_batches(self, data: bytes, position: int) -> TakenBatches | None:
        """Take those that lie in ``data`` from ``position`` on, as far as it can.

        None: not even the first.
        """


class ShardState(Protocol):
    """The state that the records of one log partition add up to."""

    def decode(self, key: Buffer, value: Buffer | None) -> Any:
        """The record; None for one of a kind that is not known here.

        Raises:
            KafkaError: the bytes are no such record.
        """

    def replay(self, record: Any, place: Place) -> None:
        """Apply a record; the only way in which replayed state changes."""

    def end_transaction(self, place: Place, is_commit: bool) -> None:
        """Apply the marker that ends the transaction of a producer."""

    def summary(self) -> dict[str, int]:
        """How many there are of what the state consists of, by a word for one."""

    def on_loaded(self) -> None:
        """Everything is replayed: begin timers, go on with what was begun."""

    def on_unloaded(self, error: KafkaError) -> None:
        """The state is of no use any more: answer everybody who waits with it."""

"""What a partition remembers of one producer: its last batches and its transaction.

Five batches are enough to answer a retry of any batch that the client may have in
flight (``max.in.flight.requests.per.connection`` of at most five). A snapshot on
disk keeps only the last one.
"""

from typing import NamedTuple

NO_EPOCH = -1
EPOCH_MAX = 2**15 - 1
NO_SEQUENCE = -1
NO_OFFSET = -1
BATCHES_KEPT = 5

_SEQUENCES = 1 << 31


def previous_sequence(sequence: int, count: int) -> int:
    """The sequence ``count`` before ``sequence``; below 0 it wraps to 2^31 - 1."""
    sequence -= count
    return sequence if sequence >= 0 else sequence + _SEQUENCES


def next_sequence(sequence: int) -> int:
    """The sequence after this one; 0 follows 2^31 - 1."""
    return (sequence + 1) % _SEQUENCES


class BatchMetadata(NamedTuple):
    """What is kept of one batch: enough to recognise it and to answer it again."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def base_sequence(self) -> int:
        """The sequence of the batch's first record."""
        return previous_sequence(self.last_sequence, self.offset_delta)

    @property
    def base_offset(self) -> int:
        """The offset of the batch's first record."""
        return self.last_offset - self.offset_delta


class ProducerState:
    """One producer, as far as one partition knows it.

    ``batches`` are of the current epoch, oldest first. ``current_txn_first_offset``
    is -1 while no transaction is open here. ``is_packed`` is for `KnownProducers`.
    """

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "current_txn_first_offset",
        "is_packed",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
    )

    def __init__(
        self,
        producer_id: int,
        producer_epoch: int = NO_EPOCH,
        coordinator_epoch: int = -1,
        last_timestamp: int = -1,
        current_txn_first_offset: int = NO_OFFSET,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.current_txn_first_offset = current_txn_first_offset
        self.is_packed = True
        self.batches: list[BatchMetadata] = []

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record, -1 when no batch is known."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        """The offset of the last record, -1 when no batch is known."""
        return self.batches[-1].last_offset if self.batches else NO_OFFSET

    @property
    def has_transaction(self) -> bool:
        """Whether a transaction of this producer is open in the partition."""
        return self.current_txn_first_offset != NO_OFFSET

    def is_in_transaction(self, producer_epoch: int) -> bool:
        """Whether a transaction of this epoch is open: its batches need no guard."""
        return (
            producer_epoch == self.producer_epoch
            and self.current_txn_first_offset != NO_OFFSET
        )

    def takes_next(
        self, producer_epoch: int, base_sequence: int, in_transaction: bool = False
    ) -> bool:
        """Whether a data batch is simply the next one; it opens no transaction."""
        return (
            producer_epoch == self.producer_epoch
            and (self.current_txn_first_offset != NO_OFFSET) is in_transaction
            and len(self.batches) > 0
            and base_sequence == next_sequence(self.batches[-1].last_sequence)
        )

    def duplicate_of(
        self, producer_epoch: int, base_sequence: int, last_sequence: int
    ) -> BatchMetadata | None:
        """The remembered batch with exactly these sequences, if there is one."""
        if producer_epoch != self.producer_epoch:
            return None
        for batch in self.batches:
            if batch.last_sequence == last_sequence:
                if batch.base_sequence == base_sequence:
                    return batch
                return None
        return None

    def misses_before(self, sequence: int) -> bool:
        """Whether others of the epoch belong between the last batch and this one."""
        expected = next_sequence(self.batches[-1].last_sequence) if self.batches else 0
        return 0 < (sequence - expected) % _SEQUENCES <= _SEQUENCES // 2

    def unwritten(self, sequence: int) -> int:
        """``sequence``, or the next one to come if that is behind the last batch."""
        if not self.batches:
            return sequence
        expected = next_sequence(self.batches[-1].last_sequence)
        is_behind = (expected - sequence) % _SEQUENCES <= _SEQUENCES // 2
        return expected if is_behind else sequence

    def add_batch(self, producer_epoch: int, batch: BatchMetadata) -> None:
        """Remember a data batch that was written; a new epoch forgets the old ones."""
        if producer_epoch != self.producer_epoch:
            self._begin_epoch(producer_epoch)
        batches = self.batches
        if len(batches) == BATCHES_KEPT:
            del batches[0]
        batches.append(batch)
        self.last_timestamp = batch.timestamp

    def end_transaction(
        self, producer_epoch: int, coordinator_epoch: int, timestamp: int
    ) -> None:
        """Note a marker: the transaction is over, and the epoch may have risen."""
        if producer_epoch != self.producer_epoch:
            self._begin_epoch(producer_epoch)
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = timestamp
        self.current_txn_first_offset = NO_OFFSET

    def _begin_epoch(self, producer_epoch: int) -> None:
        self.batches.clear()
        self.producer_epoch = producer_epoch

"""Transactions that are about to begin: what was asked about them, and is awaited.

Before the first records of a transaction are appended, its coordinator is asked
whether it knows of it (KIP-890). While the answer is under way, things may change:

    1. a producer's batch comes, and the coordinator is asked;
    2. the coordinator aborts the transaction, and its marker is written here;
    3. the answer arrives: yes, it was open. By now it is not.

So whoever asks gets a *guard*, and the append must show it. The marker of step 2
takes the guard away; the next transaction has another one, and the late append is
refused. A guard also ends with the first append of its transaction: from then on the
open transaction itself says that all is well.
"""

from typing import TYPE_CHECKING

from .state import next_sequence

if TYPE_CHECKING:
    from .state import ProducerState

VERIFICATIONS_MAX = 10_000


class VerificationGuard:
    """A token that is equal to nothing but itself."""

    __slots__ = ()


class VerificationState:
    """One producer whose transaction is to be verified.

    ``lowest_sequence`` is the lowest that was announced for ``producer_epoch``: of
    several batches in flight, the one with that sequence must be appended first.
    ``supports_epoch_bump``: the client's transactions each have their own epoch
    (transaction.version 2).
    """

    __slots__ = (
        "guard",
        "lowest_sequence",
        "producer_epoch",
        "started_ms",
        "supports_epoch_bump",
    )

    def __init__(
        self, sequence: int, producer_epoch: int, started_ms: int, epoch_bump: bool
    ) -> None:
        self.guard = VerificationGuard()
        self.lowest_sequence = sequence
        self.producer_epoch = producer_epoch
        self.started_ms = started_ms
        self.supports_epoch_bump = epoch_bump

    def announce(self, sequence: int, producer_epoch: int) -> None:
        """Take in another batch that waits; a higher epoch replaces what was known."""
        if producer_epoch > self.producer_epoch:
            self.producer_epoch, self.lowest_sequence = producer_epoch, sequence
        elif producer_epoch == self.producer_epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)


class VerificationStates(dict[int, VerificationState]):
    """The producers of a partition whose transactions are to be verified, by id.

    A dict, because every append asks whether it is empty. Of more than
    `VERIFICATIONS_MAX` producers the one that waits longest is forgotten.
    """

    def start(
        self,
        producer_id: int,
        sequence: int,
        producer_epoch: int,
        now_ms: int,
        epoch_bump: bool = False,
    ) -> VerificationGuard:
        """Note a batch that waits for its verification. Returns the guard to show.

        All batches that wait together have the same one.
        """
        state = self.get(producer_id)
        if state is None:
            if len(self) >= VERIFICATIONS_MAX:
                del self[next(iter(self))]
            state = VerificationState(sequence, producer_epoch, now_ms, epoch_bump)
            self[producer_id] = state
        else:
            state.announce(sequence, producer_epoch)
        return state.guard

    def is_verified(self, producer_id: int, guard: VerificationGuard | None) -> bool:
        """Whether ``guard`` is the one that the producer's next transaction needs."""
        state = self.get(producer_id)
        return state is not None and state.guard is guard

    def lets_begin(
        self,
        state: "ProducerState",
        base_sequence: int,
        producer_epoch: int,
        guard: VerificationGuard,
    ) -> bool:
        """Whether a batch begins the verified transaction, and is simply the next one.

        Where it is not, there may be nothing wrong with it.
        """
        awaited = self.get(state.producer_id)
        return (
            awaited is not None
            and awaited.guard is guard
            and awaited.producer_epoch == producer_epoch == state.producer_epoch
            and awaited.lowest_sequence == base_sequence
            and not state.has_transaction
            and base_sequence
            == (next_sequence(state.batches[-1].last_sequence) if state.batches else 0)
        )

    def end(self, producer_id: int, producer_epoch: int, is_marker: bool) -> None:
        """Forget the guard: a batch of the transaction, or its marker, was written.

        With an epoch for each transaction, a marker carries the epoch *behind* that of
        its transaction. When that is the epoch which now waits, the marker ended the
        transaction before, and the guard stays.
        """
        state = self.get(producer_id)
        if state is None:
            return
        if (
            is_marker
            and state.supports_epoch_bump
            and producer_epoch == state.producer_epoch
        ):
            return
        del self[producer_id]

    def remove_expired(self, now_ms: int, expiration_ms: int) -> None:
        """Forget those that began too long ago and were not appended."""
        expired = [
            producer_id
            for producer_id, state in self.items()
            if now_ms - state.started_ms >= expiration_ms
        ]
        for producer_id in expired:
            del self[producer_id]

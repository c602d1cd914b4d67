"""Guards: who may begin a transaction in a partition, and who comes too late."""

import pytest

from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
)
from odradek.protocol.errors import (
    InvalidProducerEpoch,
    InvalidTxnState,
    OutOfOrderSequenceNumber,
)
from odradek.protocol.record_batch import read_header
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.producers.append_info import AppendOrigin
from odradek.storage.producers.state import BatchMetadata, ProducerState
from odradek.storage.producers.states import ProducerStates
from odradek.storage.producers.verification_state import (
    VerificationGuard,
    VerificationState,
    VerificationStates,
)

CLIENT, COORDINATOR = AppendOrigin.CLIENT, AppendOrigin.COORDINATOR
DAY_MS = 86_400_000
NOW = 1_700_000_000_000


class Partition:
    """Producers that verify, and an offset at which the next batch is written."""

    def __init__(self, verifies: bool = True) -> None:
        self.states = ProducerStates(DAY_MS, verifies)
        self.end = 0

    def verify(
        self, sequence: int = 0, epoch: int = 0, epoch_bump: bool = False
    ) -> VerificationGuard | None:
        return self.states.start_verification(7, sequence, epoch, NOW, epoch_bump)

    def write(
        self,
        guard: VerificationGuard | None,
        sequence: int = 0,
        epoch: int = 0,
        is_transactional: bool = True,
        origin: AppendOrigin = CLIENT,
    ) -> None:
        batch = build_batch(
            [NewRecord(value=b"v")],
            producer_id=7,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
        self._append(batch, origin, guard)

    def end_transaction(self, epoch: int = 0) -> None:
        marker = EndTxnMarker(ControlType.ABORT, 0)
        self._append(build_marker_batch(marker, 7, epoch, NOW), COORDINATOR, None)

    def _append(
        self, batch: bytearray, origin: AppendOrigin, guard: VerificationGuard | None
    ) -> None:
        header = read_header(batch)
        if self.states.check(header, batch, origin, guard) is not None:
            return
        completed = self.states.add(header, batch, self.end, NOW)
        self.end += 1
        if completed is not None:
            self.states.complete(completed)


def test_a113_a_transaction_begins_with_a_guard_and_goes_on_without() -> None:
    partition = Partition()
    with pytest.raises(InvalidTxnState) as refusal:
        partition.write(None)
    assert refusal.value.code == 48
    with pytest.raises(InvalidTxnState):
        partition.write(VerificationGuard())
    guard = partition.verify()
    assert guard is not None
    assert partition.verify() is guard, "of all that wait together"
    partition.write(guard)
    assert not partition.states.verifications, "it was the first batch"
    assert partition.verify(1) is None, "the transaction is open"
    partition.write(None, 1)
    partition.write(guard, 2)


def test_t098_verification_guard_aba() -> None:
    """Guard 1 taken, abort marker, guard 2: an append with guard 1 fails."""
    partition = Partition()
    first = partition.verify()
    partition.end_transaction()
    with pytest.raises(InvalidTxnState):
        partition.write(first)
    second = partition.verify()
    assert second is not first
    with pytest.raises(InvalidTxnState) as refusal:
        partition.write(first)
    assert refusal.value.code == 48
    partition.write(second)


def test_t099_verification_sequence_5_before_0_45_then_0_succeeds() -> None:
    partition = Partition()
    guard = partition.verify(5)
    assert partition.verify(0) is guard
    with pytest.raises(OutOfOrderSequenceNumber) as refusal:
        partition.write(guard, 5)
    assert refusal.value.code == 45
    assert partition.states.get(7) is None, "nothing was changed"
    partition.write(guard, 0)
    for sequence in range(1, 6):
        partition.write(None, sequence)


def test_a_higher_epoch_replaces_the_lowest_sequence() -> None:
    state = VerificationState(3, 1, NOW, False)
    state.announce(9, 0)
    assert (state.producer_epoch, state.lowest_sequence) == (1, 3), "older: ignored"
    state.announce(5, 1)
    assert state.lowest_sequence == 3
    state.announce(2, 1)
    assert state.lowest_sequence == 2
    state.announce(8, 2)
    assert (state.producer_epoch, state.lowest_sequence) == (2, 8)


def test_a_new_epoch_in_an_open_transaction_is_verified_anew() -> None:
    partition = Partition()
    partition.write(partition.verify())
    assert partition.verify(epoch=1) is not None
    with pytest.raises(InvalidTxnState):
        partition.write(None, 0, epoch=1)


def test_the_marker_of_the_transaction_before_leaves_the_guard() -> None:
    """With an epoch for each transaction its marker carries the next one's."""
    partition = Partition()
    guard = partition.verify(epoch=1, epoch_bump=True)
    partition.end_transaction(epoch=1)
    partition.write(guard, epoch=1)
    assert not partition.states.verifications, "its own records take it away"

    partition = Partition()
    guard = partition.verify(epoch=1, epoch_bump=True)
    partition.end_transaction(epoch=2)
    with pytest.raises(InvalidTxnState):
        partition.write(guard, epoch=2)


def test_an_older_epoch_leaves_no_trace_in_what_is_awaited() -> None:
    """A late copy of a batch of the transaction before is fenced at once."""
    partition = Partition()
    partition.write(partition.verify(epoch=1, epoch_bump=True), epoch=1)
    with pytest.raises(InvalidProducerEpoch):
        partition.verify(epoch=0, epoch_bump=True)
    assert not partition.states.verifications
    partition.write(None, 1, epoch=1)


@pytest.mark.parametrize("copied", [0, 1])
def test_a_late_copy_of_what_is_written_announces_nothing(copied: int) -> None:
    """In the first version all transactions of a producer have the same epoch."""
    partition = Partition()
    guard = partition.verify()
    partition.write(guard, 0)
    partition.write(guard, 1)
    partition.end_transaction()
    late = partition.verify(copied)
    partition.write(late, copied)
    assert partition.end == 3, "it is a duplicate"
    partition.write(partition.verify(2), 2)
    partition.write(None, 3)


def test_what_is_ahead_is_missed_behind_a_late_copy_too() -> None:
    partition = Partition()
    partition.write(partition.verify())
    partition.end_transaction()
    partition.verify(0)
    with pytest.raises(OutOfOrderSequenceNumber):
        partition.write(partition.verify(2), 2)


def test_sequences_begin_anew_behind_the_last() -> None:
    state = ProducerState(7)
    assert state.unwritten(5) == 5, "nothing is known"
    state.add_batch(0, BatchMetadata((1 << 31) - 1, 9, 0, NOW))
    assert state.unwritten((1 << 31) - 1) == 0
    assert state.unwritten(0) == 0
    assert state.unwritten(3) == 3


def test_what_is_awaited_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "odradek.storage.producers.verification_state.VERIFICATIONS_MAX", 2
    )
    states = VerificationStates()
    guards = {each: states.start(each, 0, 0, NOW) for each in (7, 8, 9)}
    assert [states.is_verified(*each) for each in guards.items()] == [False, True, True]
    assert states.start(8, 1, 0, NOW) is guards[8]
    assert len(states) == 2


def test_only_transactions_of_clients_and_coordinators_need_a_guard() -> None:
    partition = Partition()
    partition.write(None, is_transactional=False)
    guard = partition.verify(1)
    partition.write(None, 1, is_transactional=False)
    assert partition.states.verifications, "the transaction has not begun"
    with pytest.raises(InvalidTxnState):
        partition.write(None, 0, origin=COORDINATOR)
    partition.write(guard, 0, origin=COORDINATOR)
    replica = Partition()
    replica.write(None, origin=AppendOrigin.REPLICATION)


def test_a_duplicate_needs_no_guard() -> None:
    partition = Partition()
    partition.write(partition.verify())
    partition.end_transaction()
    partition.write(None)
    assert partition.end == 2, "not written again"


def test_who_does_not_verify_asks_for_no_guard() -> None:
    partition = Partition(verifies=False)
    partition.write(None)
    assert partition.end == 1


def test_verifications_expire_by_the_time_they_began() -> None:
    partition = Partition()
    guard = partition.verify()
    assert not list(partition.states.remove_expired(NOW + DAY_MS - 1))
    assert partition.states.verifications.is_verified(7, guard)
    assert not list(partition.states.remove_expired(NOW + DAY_MS))
    assert not partition.states.verifications


def test_a_guard_is_its_producers() -> None:
    states = VerificationStates()
    first, second = states.start(7, 0, 0, NOW), states.start(8, 0, 0, NOW)
    assert len(states) == 2
    assert states.is_verified(7, first)
    assert not states.is_verified(7, second)
    assert not states.is_verified(9, None)
    assert states.get(9) is None


def test_who_simply_begins() -> None:
    known = ProducerState(7, producer_epoch=1)
    states = VerificationStates()
    guard = states.start(7, 0, 1, NOW, epoch_bump=True)
    assert states.lets_begin(known, 0, 1, guard)
    assert not states.lets_begin(known, 0, 1, VerificationGuard())
    assert not states.lets_begin(known, 0, 2, guard), "another epoch"
    assert not states.lets_begin(known, 1, 1, guard), "not its first"
    known.add_batch(1, BatchMetadata(4, 40, 0, NOW))
    assert not states.lets_begin(known, 0, 1, guard), "it has written already"
    states.clear()
    guard = states.start(7, 5, 1, NOW)
    assert states.lets_begin(known, 5, 1, guard)
    assert states.start(7, 4, 1, NOW) is guard
    assert not states.lets_begin(known, 5, 1, guard), "another waits that comes before"
    states.clear()
    guard = states.start(7, 5, 1, NOW)
    known.current_txn_first_offset = 40
    assert not states.lets_begin(known, 5, 1, guard), "it is open"
    assert not states.lets_begin(ProducerState(8, 1), 5, 1, guard)

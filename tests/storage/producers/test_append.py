"""Which batches of a producer may be appended, which repeat one, which are refused."""

import pytest

from odradek.protocol.errors import (
    InvalidProducerEpoch,
    InvalidTxnState,
    OutOfOrderSequenceNumber,
    TransactionCoordinatorFenced,
)
from odradek.protocol.record_batch import BatchHeader, next_sequence, read_header
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.producers.append import (
    check_data_batch,
    check_marker,
    leaves_out,
)
from odradek.storage.producers.append_info import AppendOrigin
from odradek.storage.producers.state import EPOCH_MAX, BatchMetadata, ProducerState
from odradek.storage.producers.verification_state import (
    VerificationState as Verification,
)

CLIENT, COORDINATOR = AppendOrigin.CLIENT, AppendOrigin.COORDINATOR
REPLICATION = AppendOrigin.REPLICATION
LAST = 2**31 - 1


def header(
    sequence: int, epoch: int = 0, count: int = 1, is_transactional: bool = False
) -> BatchHeader:
    return read_header(
        build_batch(
            [NewRecord(value=b"v")] * count,
            producer_id=7,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
    )


def after(*headers: BatchHeader) -> ProducerState:
    """The state of a producer that has written these batches, from offset 0 on."""
    state, offset = ProducerState(7), 0
    for sent in headers:
        delta = sent.last_offset_delta
        state.add_batch(
            sent.producer_epoch,
            BatchMetadata(sent.last_sequence, offset + delta, delta, timestamp=offset),
        )
        offset += delta + 1
    return state


def test_t015_sequence_wrap() -> None:
    wrapping = header(2147483637, count=21)
    assert wrapping.last_sequence == 9
    assert next_sequence(LAST, 1) == 0
    assert check_data_batch(after(wrapping), header(10), CLIENT) is None
    at_the_end = after(header(LAST))
    assert check_data_batch(at_the_end, header(0), CLIENT) is None
    with pytest.raises(OutOfOrderSequenceNumber):
        check_data_batch(at_the_end, header(1), CLIENT)


def test_t087_duplicate_of_five_batches_returns_original_offsets() -> None:
    state = after(*[header(sequence) for sequence in range(6)])
    for sequence in range(1, 6):
        duplicate = check_data_batch(state, header(sequence), CLIENT)
        assert duplicate is not None
        assert duplicate.base_offset == sequence
    with pytest.raises(OutOfOrderSequenceNumber):
        check_data_batch(state, header(0), CLIENT)


def test_t087_a_partial_overlap_is_out_of_order_too() -> None:
    state = after(header(0, count=3))
    for sent in (header(2, count=2), header(0), header(1, count=2)):
        with pytest.raises(OutOfOrderSequenceNumber):
            check_data_batch(state, sent, CLIENT)
    assert check_data_batch(state, header(0, count=3), CLIENT) is not None


def test_a_gap_is_out_of_order() -> None:
    with pytest.raises(OutOfOrderSequenceNumber, match="expected 1"):
        check_data_batch(after(header(0)), header(2), CLIENT)


def test_a_batch_leaves_out_what_belongs_before_it() -> None:
    known = after(header(0, epoch=1, count=3))
    left_out = {
        sequence: leaves_out(known, header(sequence, epoch=1))
        for sequence in (0, 2, 3, 4, 1000)
    }
    assert left_out == {0: False, 2: False, 3: False, 4: True, 1000: True}
    assert not leaves_out(after(header(LAST)), header(0))
    assert leaves_out(after(header(LAST)), header(1))
    assert not leaves_out(after(header(1)), header(LAST))


def test_the_first_batch_of_a_producer_or_an_epoch_has_sequence_0() -> None:
    for state in (None, after(header(5, epoch=1))):
        assert not leaves_out(state, header(0, epoch=2))
        assert leaves_out(state, header(1, epoch=2))
    marked = after(header(5, epoch=1))
    marked.end_transaction(2, 0, 0)
    assert not leaves_out(marked, header(0, epoch=2))
    assert leaves_out(marked, header(1, epoch=2))
    assert not leaves_out(marked, header(7, epoch=1))  # fenced, whatever it sends


def test_t089_epoch_lower_47_for_client_accepted_with_warning_as_replication(
    caplog: pytest.LogCaptureFixture,
) -> None:
    state = after(header(0, epoch=2))
    for origin in (CLIENT, COORDINATOR):
        with pytest.raises(InvalidProducerEpoch) as refusal:
            check_data_batch(state, header(1, epoch=1), origin)
        assert refusal.value.code == 47
    assert not caplog.messages
    assert check_data_batch(state, header(1, epoch=1), REPLICATION) is None
    assert "epoch 1 of producer 7 at offset 0 is older than 2" in caplog.text
    caplog.clear()
    check_marker(state, header(1, epoch=1), 0, REPLICATION)
    assert "is older than 2" in caplog.text
    with pytest.raises(InvalidProducerEpoch):
        check_marker(state, header(1, epoch=1), 0, COORDINATOR)


def test_what_was_replicated_is_never_refused() -> None:
    state = after(header(0, epoch=2))
    state.current_txn_first_offset = 0
    state.coordinator_epoch = 9
    for sent in (
        header(5, epoch=2),  # a gap, and not of the open transaction
        header(0, epoch=2),  # a duplicate
        header(17, epoch=3),  # a new epoch that does not begin with 0
        header(0, epoch=-1),
    ):
        assert check_data_batch(state, sent, REPLICATION) is None
    check_marker(state, header(0, epoch=2), 8, REPLICATION)


def test_t090_new_epoch_requires_zero_unless_no_state() -> None:
    state = after(header(0))
    assert check_data_batch(state, header(0, epoch=1), CLIENT) is None
    with pytest.raises(OutOfOrderSequenceNumber):
        check_data_batch(state, header(17, epoch=1), CLIENT)
    assert check_data_batch(None, header(17), CLIENT) is None
    assert check_data_batch(ProducerState(7), header(17), CLIENT) is None


def test_t091_after_abort_marker_with_higher_epoch_sequence_0_required() -> None:
    state = after(header(0), header(1))
    state.end_transaction(1, coordinator_epoch=0, timestamp=0)
    with pytest.raises(OutOfOrderSequenceNumber):
        check_data_batch(state, header(2, epoch=1), CLIENT)
    assert check_data_batch(state, header(0, epoch=1), CLIENT) is None


def test_a_producer_without_an_epoch_is_refused() -> None:
    for state in (None, after(header(0))):
        with pytest.raises(InvalidProducerEpoch):
            check_data_batch(state, header(1, epoch=-1), CLIENT)


def test_t095_non_transactional_during_open_txn_48() -> None:
    state = after(header(0, is_transactional=True))
    state.current_txn_first_offset = 0
    for origin in (CLIENT, COORDINATOR):
        with pytest.raises(InvalidTxnState) as refusal:
            check_data_batch(state, header(1), origin)
        assert refusal.value.code == 48
    in_it = header(1, is_transactional=True)
    assert check_data_batch(state, in_it, CLIENT) is None


def test_t102_group_coordinator_origin_sequence_zero_always_ok() -> None:
    state = after(header(0), header(1))
    assert check_data_batch(state, header(0), COORDINATOR) is None


def test_a_marker_needs_an_epoch_and_a_coordinator_that_are_not_older() -> None:
    state = after(header(0, epoch=3))
    state.coordinator_epoch = 5
    check_marker(None, header(0), 0, COORDINATOR)
    check_marker(state, header(0, epoch=3), 5, COORDINATOR)
    with pytest.raises(TransactionCoordinatorFenced):
        check_marker(state, header(0, epoch=3), 4, COORDINATOR)
    with pytest.raises(InvalidProducerEpoch):
        check_marker(state, header(0, epoch=2), 5, COORDINATOR)


def test_a_transaction_of_version_2_ends_with_a_higher_epoch() -> None:
    state = after(header(0, epoch=3, is_transactional=True))
    state.current_txn_first_offset = 0
    check_marker(state, header(0, epoch=4), 0, COORDINATOR, transaction_version=2)
    check_marker(state, header(0, epoch=3), 0, COORDINATOR, transaction_version=1)
    with pytest.raises(InvalidProducerEpoch):
        check_marker(state, header(0, epoch=3), 0, COORDINATOR, transaction_version=2)


def test_a_marker_of_version_2_may_be_sent_again() -> None:
    state = after(header(0, epoch=3))
    check_marker(state, header(0, epoch=3), 0, COORDINATOR, transaction_version=2)
    exhausted = after(header(0, epoch=EPOCH_MAX, is_transactional=True))
    exhausted.current_txn_first_offset = 0
    last = header(0, epoch=EPOCH_MAX)
    check_marker(exhausted, last, 0, COORDINATOR, transaction_version=2)


def awaiting(sequence: int, epoch: int = 0, epoch_bump: bool = False) -> Verification:
    return Verification(sequence, epoch, 0, epoch_bump)


def test_of_batches_in_flight_the_lowest_sequence_comes_first() -> None:
    for state in (None, ProducerState(7), after(header(0))):
        for later in (2, 5):
            with pytest.raises(OutOfOrderSequenceNumber, match="before 1"):
                check_data_batch(state, header(later), CLIENT, awaiting(1))
        assert check_data_batch(state, header(1), CLIENT, awaiting(1)) is None
    with pytest.raises(InvalidProducerEpoch):
        check_data_batch(after(header(0, epoch=2)), header(5), CLIENT, awaiting(1))


def test_a_duplicate_is_one_while_another_batch_is_awaited() -> None:
    duplicate = check_data_batch(after(header(3)), header(3), CLIENT, awaiting(1))
    assert duplicate is not None
    assert duplicate.base_offset == 0


def test_an_unknown_producer_of_version_2_begins_with_sequence_0() -> None:
    for state in (None, ProducerState(7)):
        with pytest.raises(OutOfOrderSequenceNumber, match="not 0"):
            check_data_batch(state, header(4), CLIENT, awaiting(4, epoch_bump=True))
        assert check_data_batch(state, header(4), CLIENT, awaiting(4)) is None
        assert (
            check_data_batch(state, header(0), CLIENT, awaiting(0, epoch_bump=True))
            is None
        )
    known, next_of_it = after(header(3)), awaiting(4, epoch_bump=True)
    assert check_data_batch(known, header(4), CLIENT, next_of_it) is None

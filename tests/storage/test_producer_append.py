"""Which batches of a producer may be appended, which repeat one, which are refused."""

import pytest

from protocol.errors import (
    InvalidProducerEpoch,
    InvalidTxnState,
    OutOfOrderSequenceNumber,
    TransactionCoordinatorFenced,
)
from protocol.record_batch import BatchHeader, next_sequence, read_header
from protocol.records import NewRecord, build_batch
from storage.append_info import AppendOrigin
from storage.producer_append import check_data_batch, check_marker
from storage.producer_state import BatchMetadata, ProducerState

CLIENT, COORDINATOR = AppendOrigin.CLIENT, AppendOrigin.COORDINATOR
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


def test_a_partial_overlap_is_out_of_order() -> None:
    state = after(header(0, count=3))
    for sent in (header(2, count=2), header(0), header(1, count=2)):
        with pytest.raises(OutOfOrderSequenceNumber):
            check_data_batch(state, sent, CLIENT)
    assert check_data_batch(state, header(0, count=3), CLIENT) is not None


def test_a_gap_is_out_of_order() -> None:
    with pytest.raises(OutOfOrderSequenceNumber, match="expected 1"):
        check_data_batch(after(header(0)), header(2), CLIENT)


def test_t089_epoch_lower_47_for_client() -> None:
    state = after(header(0, epoch=2))
    for origin in (CLIENT, COORDINATOR):
        with pytest.raises(InvalidProducerEpoch):
            check_data_batch(state, header(1, epoch=1), origin)


def test_t090_new_epoch_requires_zero_unless_nothing_is_known() -> None:
    state = after(header(0))
    assert check_data_batch(state, header(0, epoch=1), CLIENT) is None
    with pytest.raises(OutOfOrderSequenceNumber):
        check_data_batch(state, header(17, epoch=1), CLIENT)
    assert check_data_batch(None, header(17), CLIENT) is None
    assert check_data_batch(ProducerState(7), header(17), CLIENT) is None


def test_t091_after_abort_marker_with_higher_epoch_sequence_0_is_required() -> None:
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
    with pytest.raises(InvalidTxnState):
        check_data_batch(state, header(1), CLIENT)
    in_it = header(1, is_transactional=True)
    assert check_data_batch(state, in_it, CLIENT) is None


def test_t102_group_coordinator_origin_sequence_zero_is_always_ok() -> None:
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

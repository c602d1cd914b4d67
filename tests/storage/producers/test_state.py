"""What is remembered of a producer: five batches, and only of its current epoch."""

import pytest

from odradek.storage.producers.state import (
    BatchMetadata,
    ProducerState,
    next_sequence,
    previous_sequence,
)

LAST = 2**31 - 1


def batch(last_sequence: int, last_offset: int = 0, delta: int = 0) -> BatchMetadata:
    return BatchMetadata(last_sequence, last_offset, delta, timestamp=0)


def with_batches(*sequences: int) -> ProducerState:
    state = ProducerState(7)
    for sequence in sequences:
        state.add_batch(0, batch(sequence, last_offset=100 + sequence))
    return state


def test_zero_follows_the_last_sequence() -> None:
    assert next_sequence(LAST) == 0
    assert next_sequence(0) == 1


@pytest.mark.parametrize(
    ("sequence", "count", "expected"),
    [(5, 5, 0), (5, 0, 5), (0, 1, LAST), (9, 20, LAST - 10)],
)
def test_the_sequence_before_wraps_too(
    sequence: int, count: int, expected: int
) -> None:
    assert previous_sequence(sequence, count) == expected


def test_a_batch_knows_where_it_began() -> None:
    stored = BatchMetadata(
        last_sequence=9, last_offset=120, offset_delta=20, timestamp=0
    )
    assert stored.base_offset == 100
    assert stored.base_sequence == LAST - 10


def test_five_batches_are_kept() -> None:
    state = with_batches(0, 1, 2, 3, 4, 5)
    assert [kept.last_sequence for kept in state.batches] == [1, 2, 3, 4, 5]
    assert state.last_sequence == 5
    assert state.last_offset == 105


def test_a_duplicate_has_exactly_the_same_sequences() -> None:
    state = ProducerState(7)
    state.add_batch(3, BatchMetadata(8, 50, 2, 0))
    assert state.duplicate_of(3, 6, 8) == BatchMetadata(8, 50, 2, 0)
    assert state.duplicate_of(3, 7, 8) is None
    assert state.duplicate_of(3, 6, 7) is None
    assert state.duplicate_of(2, 6, 8) is None


def test_a_new_epoch_forgets_the_batches() -> None:
    state = with_batches(0, 1)
    state.add_batch(1, batch(0))
    assert state.producer_epoch == 1
    assert len(state.batches) == 1


def test_a_marker_of_the_same_epoch_keeps_the_batches() -> None:
    state = with_batches(0)
    state.current_txn_first_offset = 100
    state.end_transaction(0, coordinator_epoch=4, timestamp=99)
    assert not state.has_transaction
    assert state.batches
    assert state.coordinator_epoch == 4
    assert state.last_timestamp == 99


def test_a_marker_of_a_higher_epoch_forgets_them() -> None:
    state = with_batches(0)
    state.end_transaction(1, coordinator_epoch=4, timestamp=99)
    assert state.last_sequence == -1
    assert state.last_offset == -1


def test_a_transaction_is_of_one_epoch() -> None:
    state = with_batches(0)
    assert not state.is_in_transaction(0)
    state.current_txn_first_offset = 100
    assert state.is_in_transaction(0)
    assert not state.is_in_transaction(1)


def test_what_is_simply_the_next_batch() -> None:
    state = with_batches(4, 5)
    assert state.takes_next(0, 6)
    assert not state.takes_next(0, 5)
    assert not state.takes_next(1, 6)  # another instance
    state.current_txn_first_offset = 100
    assert not state.takes_next(0, 6)
    assert state.takes_next(0, 6, in_transaction=True)
    assert not state.takes_next(0, 5, in_transaction=True)
    assert not with_batches(4, 5).takes_next(0, 6, in_transaction=True)
    assert not ProducerState(7, producer_epoch=0).takes_next(0, 0)  # nothing is known
    assert with_batches(LAST).takes_next(0, 0)

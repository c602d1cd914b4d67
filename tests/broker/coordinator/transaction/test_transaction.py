"""What becomes of a transactional id, step by step."""

import pytest

from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.transaction.states import TransactionState
from odradek.broker.coordinator.transaction.transaction import EndedBy, Transaction
from tests.broker.coordinator.transaction.rig import A0, A1, B0

EMPTY = Transaction("x", 5, 1, 1000, 17)


def test_partitions_are_added_once_and_keep_the_start() -> None:
    begun = EMPTY.begun_with([A0, A1], 2, 20)
    more = begun.begun_with([A1, B0], 2, 30)
    assert more.partitions == (A0, A1, B0)
    assert (more.start_ms, more.last_update_ms) == (20, 30)
    assert more.has_all([B0, A0])
    assert not begun.has_all([B0, A0])


def test_the_next_transaction_starts_anew() -> None:
    begun = EMPTY.begun_with([A0], 0, 20)
    done = begun.prepared(True, 30, EndedBy.PRODUCER).completed(40)
    assert (done.partitions, done.start_ms) == ((), 20)
    again = done.begun_with([B0], 0, 50)
    assert (again.partitions, again.start_ms) == ((B0,), 50)


def test_a_commit_stays_a_commit() -> None:
    prepared = EMPTY.begun_with([A0], 0, 20).prepared(True, 30, EndedBy.PRODUCER)
    assert prepared.state is TransactionState.PREPARE_COMMIT
    assert prepared.partitions == (A0,)
    assert prepared.completed(40).state is TransactionState.COMPLETE_COMMIT
    with pytest.raises(AssertionError):
        prepared.prepared(False, 40, EndedBy.TIMEOUT)


def test_steps_that_the_table_does_not_have_are_bugs() -> None:
    with pytest.raises(AssertionError):
        EMPTY.prepared(True, 20, EndedBy.PRODUCER)
    with pytest.raises(AssertionError):
        EMPTY.completed(20)
    with pytest.raises(AssertionError):
        EMPTY.begun_with([A0], 0, 20).given_to(ProducerIdentity(5, 2), -1, 1, 30)


def test_an_epoch_that_goes_back_is_a_bug() -> None:
    with pytest.raises(AssertionError):
        EMPTY.given_to(ProducerIdentity(5, 0), -1, 1000, 20)
    assert EMPTY.given_to(ProducerIdentity(6, 0), -1, 1000, 20).producer == (6, 0)


def test_the_next_producer_id_takes_over_when_complete() -> None:
    begun = EMPTY.begun_with([A0], 2, 20)
    prepared = begun.prepared(
        True, 30, EndedBy.PRODUCER, producer_epoch=32767, next_producer_id=9
    )
    assert prepared.producer == (5, 32767)
    assert prepared.successor == (9, 0)
    done = prepared.completed(40)
    assert done.producer == (9, 0)
    assert done.next_producer_id == -1
    assert done.has_rotated_from(ProducerIdentity(5, 32766))
    assert not done.has_rotated_from(ProducerIdentity(9, 32766))
    assert not done.begun_with([A0], 2, 50).has_rotated_from(ProducerIdentity(5, 32766))


def test_epochs_end() -> None:
    assert not Transaction("x", 5, 32765, 1000, 17).is_exhausted
    assert Transaction("x", 5, 32766, 1000, 17).is_exhausted
    assert Transaction("x", 5, 32766, 1000, 17).next_epoch == 32767
    assert Transaction("x", 5, 32767, 1000, 17).next_epoch == 32767

"""InitProducerId with a transactional id."""

import pytest

from odradek.broker.coordinator.transaction.states import TransactionState
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import CoordinatorNotAvailable, ErrorCode
from tests.broker.coordinator.transaction.rig import A0, ID, Transactions

LAST = 32766


def test_t157_init_pid_bumps() -> None:
    rig = Transactions()
    first = rig.init()
    assert isinstance(first, Parked)
    assert not first.done()
    assert rig.done(first) == (1000, 0)
    assert rig.done(rig.init()) == (1000, 1)
    assert rig.done(rig.init(transactional_id="u")) == (1001, 0)


@pytest.mark.parametrize("version", [1, 2])
def test_t157_ongoing_aborts_then_second_call_gets_epoch_plus_2(version: int) -> None:
    rig = Transactions()
    old = rig.ongoing(version=version)
    answer = rig.init()
    assert not answer.done()  # it is fenced when that is durable
    rig.flush()
    assert answer.result() == ErrorCode.CONCURRENT_TRANSACTIONS
    assert rig.init() == ErrorCode.CONCURRENT_TRANSACTIONS  # markers are missing
    (written,) = rig.settle()
    assert not written.is_commit
    assert (written.producer_id, written.producer_epoch) == (1000, 1)
    assert rig.done(rig.init()) == (1000, 2)
    assert rig.add(old, A0) == ErrorCode.PRODUCER_FENCED
    assert rig.end(old) == ErrorCode.PRODUCER_FENCED


def test_a_prepared_transaction_is_waited_for() -> None:
    rig = Transactions()
    rig.prepared()
    assert rig.init() == ErrorCode.CONCURRENT_TRANSACTIONS
    (written,) = rig.settle()
    assert written.is_commit
    assert rig.done(rig.init()) == (1000, 1)


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_timeouts_out_of_bounds(timeout_ms: int) -> None:
    rig = Transactions()
    refused = ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert rig.init(timeout_ms=timeout_ms) == refused
    assert rig.state.get(ID) is None
    assert rig.done(rig.init(timeout_ms=900_000)) == (1000, 0)


def test_without_a_producer_id_it_is_tried_again() -> None:
    rig = Transactions()
    rig.producer_ids.is_empty = True
    assert rig.init() == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    rig.producer_ids.is_empty = False
    assert rig.done(rig.init()) == (1000, 0)


def test_a_refused_append_changes_nothing() -> None:
    rig = Transactions()
    rig.ongoing()
    before = rig.get()
    rig.fake.refusal = CoordinatorNotAvailable()
    assert rig.init() == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert rig.get() is before
    rig.fake.refusal = None
    rig.done(rig.init())
    # The fence that failed was not a step.
    assert rig.get().producer_epoch == 1


# KIP-360: who says who it is


def test_the_present_producer_gets_the_next_epoch_and_may_ask_again() -> None:
    rig = Transactions()
    rig.producer()
    rig.done(rig.init())
    assert rig.done(rig.init(expected=(1000, 1))) == (1000, 2)
    assert rig.done(rig.init(expected=(1000, 1))) == (1000, 2)
    assert rig.init(expected=(1000, 0)) == ErrorCode.PRODUCER_FENCED
    assert rig.init(expected=(3007, 0)) == ErrorCode.PRODUCER_FENCED
    assert rig.get().producer == (1000, 2)


def test_another_producer_ends_the_right_to_ask_again() -> None:
    rig = Transactions()
    rig.producer()
    rig.done(rig.init(expected=(1000, 0)))
    rig.done(rig.init())
    assert rig.init(expected=(1000, 0)) == ErrorCode.PRODUCER_FENCED
    assert rig.init(expected=(1000, 1)) == ErrorCode.PRODUCER_FENCED


def test_after_a_crash_who_asks_again_is_fenced() -> None:
    rig = Transactions()
    rig.producer()
    rig.done(rig.init(expected=(1000, 0)))
    rig.crash()
    assert rig.init(expected=(1000, 0)) == ErrorCode.PRODUCER_FENCED
    assert rig.done(rig.init(expected=(1000, 1))) == (1000, 2)


def test_an_unknown_transactional_id_with_a_producer_gets_a_new_one() -> None:
    rig = Transactions()
    assert rig.done(rig.init(expected=(77, 1))) == (1000, 0)


@pytest.mark.parametrize("version", [1, 2])
def test_a_producer_that_begins_anew_gets_its_epoch(version: int) -> None:
    rig = Transactions()
    producer = rig.ongoing(version=version)
    answer = rig.init(expected=producer)
    assert rig.done(answer) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert rig.current() is TransactionState.COMPLETE_ABORT
    assert rig.done(rig.init(expected=producer)) == (1000, 1)
    assert rig.done(rig.init(expected=producer)) == (1000, 1)


@pytest.mark.parametrize("expected", [(1000, 0), (999, 1), (1000, 2), (999, LAST)])
def test_a_late_request_does_not_abort_the_transaction_of_a_later_epoch(
    expected: tuple[int, int],
) -> None:
    rig = Transactions()
    rig.producer()
    producer = rig.done(rig.init(expected=(1000, 0)))
    rig.done(rig.add(producer, A0))
    assert rig.init(expected=expected) == ErrorCode.PRODUCER_FENCED
    assert rig.current() is TransactionState.ONGOING


# No epoch left


def test_t161_epoch_exhaustion_rotates_producer_id() -> None:
    rig = Transactions()
    rig.producer(LAST - 1)
    assert rig.done(rig.init()) == (1000, LAST)
    assert rig.done(rig.init()) == (1001, 0)
    assert rig.init(expected=(1000, LAST)) == ErrorCode.PRODUCER_FENCED


def test_t161_rotation_may_be_asked_for_again() -> None:
    rig = Transactions()
    rig.producer(LAST)
    assert rig.done(rig.init(expected=(1000, LAST))) == (1001, 0)
    assert rig.done(rig.init(expected=(1000, LAST))) == (1001, 0)
    assert rig.init(expected=(1000, LAST - 1)) == ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize("version", [1, 2])
def test_t161_the_last_epoch_is_fenced_with_one_that_nobody_gets(version: int) -> None:
    rig = Transactions()
    rig.ongoing(LAST, version=version)
    rig.init()
    (written,) = rig.settle()
    assert (written.producer_id, written.producer_epoch) == (1000, LAST + 1)
    given = rig.done(rig.init())
    assert given[0] > 1000
    assert given[1] <= 1


def test_t161_an_exhausted_producer_is_refused_who_is_not_the_last() -> None:
    rig = Transactions()
    rig.producer(LAST)
    assert rig.init(expected=(1000, 5)) == ErrorCode.PRODUCER_FENCED
    rig.producer_ids.is_empty = True
    assert rig.init() == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert rig.get().producer == (1000, LAST)

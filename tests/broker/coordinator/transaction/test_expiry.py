"""Transactions that take too long, and transactional ids that nobody uses."""

import pytest

from odradek.broker.coordinator.transaction.expiry import decide_expiry, decide_timeouts
from odradek.broker.coordinator.transaction.states import TransactionState
from odradek.protocol.errors import CoordinatorNotAvailable, ErrorCode
from tests.broker.coordinator.transaction.rig import A0, ID, TIMEOUT_MS, Transactions

FENCED = ErrorCode.PRODUCER_FENCED
WEEK_MS = 7 * 24 * 3600 * 1000
VERSIONS = pytest.mark.parametrize("version", [1, 2])


@VERSIONS
def test_t160_timeout_fences_producer(version: int) -> None:
    rig = Transactions()
    producer = rig.ongoing(version=version)
    rig.clock.advance(TIMEOUT_MS)
    rig.time_out()
    assert rig.current() is TransactionState.ONGOING  # not longer than allowed
    rig.clock.advance(1)
    rig.time_out()
    assert not rig.markers.pending
    (markers,) = rig.settle()
    assert not markers.is_commit
    assert (markers.producer_id, markers.producer_epoch) == (1000, 1)
    assert rig.current() is TransactionState.COMPLETE_ABORT
    assert rig.end(producer, commit=True, version=version) == FENCED
    assert rig.add(producer, A0) == FENCED


@VERSIONS
@pytest.mark.parametrize("crashes", [False, True])
def test_t160_a_timeout_that_races_a_commit_is_never_a_wrong_state(
    version: int, crashes: bool
) -> None:
    rig = Transactions()
    producer = rig.ongoing(version=version)
    rig.clock.advance(TIMEOUT_MS + 1)
    rig.time_out()
    answers = [rig.end(producer, version=version)]
    rig.flush()
    answers.append(rig.end(producer, version=version))
    if crashes:
        rig.crash()
        answers.append(rig.end(producer, version=version))
    rig.settle()
    answers.append(rig.end(producer, version=version))
    assert set(answers) <= {FENCED, ErrorCode.CONCURRENT_TRANSACTIONS}
    assert answers[-1] == FENCED


def test_a_commit_that_comes_first_wins() -> None:
    rig = Transactions()
    rig.prepared(commit=True)
    rig.clock.advance(TIMEOUT_MS + 1)
    rig.time_out()
    rig.settle()
    assert rig.current() is TransactionState.COMPLETE_COMMIT


def test_an_end_between_the_look_and_the_abort_is_kept() -> None:
    rig = Transactions()
    producer = rig.ongoing()
    rig.clock.advance(TIMEOUT_MS + 1)
    rig.decide(decide_timeouts)
    answer = rig.end(producer)
    assert rig.done(answer) == producer
    assert rig.current() is TransactionState.COMPLETE_COMMIT


def test_a_fenced_producer_of_the_first_protocol_cannot_abort() -> None:
    rig = Transactions()
    producer = rig.ongoing()
    rig.clock.advance(TIMEOUT_MS + 1)
    rig.time_out()
    rig.settle()
    assert rig.end(producer, commit=False) == FENCED
    assert rig.init(expected=producer) == FENCED
    assert rig.done(rig.init()) == (1000, 2)


def test_a_producer_of_the_second_protocol_goes_on_by_an_abort() -> None:
    rig = Transactions()
    producer = rig.ongoing(version=2)
    rig.clock.advance(TIMEOUT_MS + 1)
    rig.time_out()
    rig.settle()
    assert rig.end(producer, commit=False, version=2) == (1000, 1)
    assert rig.done(rig.init(expected=producer)) == (1000, 1)


def test_only_what_is_open_times_out() -> None:
    rig = Transactions()
    rig.producer()
    rig.clock.advance(WEEK_MS)
    size = len(rig.fake.log)
    rig.time_out()
    assert len(rig.fake.log) == size


def test_many_time_out_at_once() -> None:
    rig = Transactions()
    for name in "xyz":
        producer = rig.done(rig.init(transactional_id=name))
        rig.done(rig.add(producer, A0, transactional_id=name))
    rig.clock.advance(TIMEOUT_MS + 1)
    rig.time_out()
    size = len(rig.fake.log)
    assert size == 9  # three each, and they are aborted one by one
    assert len(rig.settle()) == 3
    assert {rig.get(name).state for name in "xyz"} == {TransactionState.COMPLETE_ABORT}


def test_a_timeout_that_cannot_be_written_is_tried_again_with_the_same_epoch() -> None:
    rig = Transactions()
    rig.ongoing()
    rig.clock.advance(TIMEOUT_MS + 1)
    rig.fake.refusal = CoordinatorNotAvailable()
    rig.time_out()
    assert rig.current() is TransactionState.ONGOING
    rig.fake.refusal = None
    rig.time_out()
    rig.settle()
    assert rig.get().producer == (1000, 1)


def test_without_a_producer_id_the_next_time_will_do() -> None:
    rig = Transactions()
    rig.ongoing(32766, version=2)
    rig.clock.advance(TIMEOUT_MS + 1)
    rig.producer_ids.is_empty = True
    rig.time_out()
    assert rig.current() is TransactionState.ONGOING
    rig.producer_ids.is_empty = False
    rig.time_out()
    rig.settle()
    assert rig.get().producer == (1001, 0)


def test_t164_transactional_id_expiry_tombstone() -> None:
    rig = Transactions()
    rig.producer()
    rig.clock.advance(WEEK_MS - 1)
    rig.decide(decide_expiry)
    assert rig.state.get(ID) is not None
    rig.clock.advance(1)
    rig.decide(decide_expiry)
    assert rig.state.get(ID) is None
    assert rig.fake.log[-1] == (b"\x00\x00\x00\x01t", None)
    rig.settle()
    rig.crash()
    assert rig.state.get(ID) is None
    assert rig.done(rig.init()) == (1001, 0)


def test_t164_what_is_not_at_rest_is_kept() -> None:
    rig = Transactions()
    producer = rig.ongoing()
    rig.clock.advance(2 * WEEK_MS)
    rig.decide(decide_expiry)
    assert rig.current() is TransactionState.ONGOING
    rig.end(producer)
    rig.flush()
    rig.clock.advance(2 * WEEK_MS)
    rig.decide(decide_expiry)
    assert rig.get().state.is_prepared
    rig.settle()
    rig.clock.advance(WEEK_MS)
    rig.decide(decide_expiry)
    assert rig.state.get(ID) is None

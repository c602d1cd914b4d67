"""EndTxn of both protocols, the markers, and what a crash leaves."""

import pytest

from odradek.broker.coordinator.transaction.end import COMPLETE_RETRY_MS, complete
from odradek.broker.coordinator.transaction.states import TransactionState
from odradek.protocol.errors import CoordinatorNotAvailable, ErrorCode
from tests.broker.coordinator.transaction.rig import A0, B0, ID, Transactions

FENCED = ErrorCode.PRODUCER_FENCED
WRONG = ErrorCode.INVALID_TXN_STATE
CONCURRENT = ErrorCode.CONCURRENT_TRANSACTIONS
VERSIONS = pytest.mark.parametrize("version", [1, 2])
ENDS = pytest.mark.parametrize("commit", [True, False])


# The order of what becomes durable


@VERSIONS
@ENDS
def test_end_is_answered_before_markers_are_written(commit: bool, version: int) -> None:
    rig = Transactions()
    producer = rig.ongoing(version=version)
    answer = rig.end(producer, commit=commit, version=version)
    rig.fake.turn()
    assert not answer.done()
    assert not rig.markers.pending  # nothing is decided that a crash could undo
    rig.flush()
    assert answer.result() == (1000, version - 1)
    assert rig.get().state.is_prepared
    (markers,) = rig.markers.finish()
    assert markers.is_commit == commit
    assert markers.partitions == (A0, B0)
    assert (markers.producer_id, markers.producer_epoch) == (1000, version - 1)
    assert markers.coordinator == rig.fake.topic_partition
    assert rig.get().state.is_complete
    assert rig.get().state.is_commit == commit


@VERSIONS
@ENDS
def test_t159_coordinator_crash_after_prepare_completes_markers_on_load(
    commit: bool, version: int
) -> None:
    rig = Transactions()
    rig.prepared(commit=commit, version=version)
    rig.crash()
    (markers,) = rig.settle()
    assert markers.is_commit == commit
    assert markers.partitions == (A0, B0)
    assert rig.get().state.is_complete
    rig.crash()
    assert not rig.settle()


def test_a_crash_before_prepare_is_durable_leaves_it_ongoing() -> None:
    rig = Transactions()
    producer = rig.ongoing()
    answer = rig.end(producer)
    rig.crash()
    assert not answer.done()
    assert rig.current() is TransactionState.ONGOING
    assert rig.done(rig.end(producer, commit=False)) == producer


def test_markers_are_written_again_when_complete_is_lost() -> None:
    rig = Transactions()
    rig.prepared()
    rig.markers.finish()
    assert rig.get().state.is_complete
    rig.crash()
    assert rig.get().state.is_prepared
    assert len(rig.settle()) == 1


def test_completion_that_is_refused_is_tried_again() -> None:
    rig = Transactions()
    rig.prepared()
    rig.fake.refusal = CoordinatorNotAvailable()
    rig.markers.finish()
    assert rig.get().state.is_prepared
    rig.fake.refusal = None
    rig.clock.advance(COMPLETE_RETRY_MS)
    assert rig.current() is TransactionState.COMPLETE_COMMIT
    assert len(rig.state.timers) == 0


def test_an_unloaded_shard_tries_nothing_again() -> None:
    rig = Transactions()
    rig.prepared()
    rig.fake.refusal = CoordinatorNotAvailable()
    rig.state.timers.close()
    rig.markers.finish()
    assert len(rig.state.timers) == 0


def test_what_is_done_twice_completes_once() -> None:
    rig = Transactions()
    producer = rig.prepared()
    prepared = rig.get()
    rig.settle()
    rig.done(rig.add(producer, A0))
    complete(rig.state, prepared)
    assert rig.current() is TransactionState.ONGOING


def test_a_transaction_without_partitions_is_complete_at_once() -> None:
    rig = Transactions()
    producer = rig.producer()
    rig.done(rig.add(producer))
    answer = rig.end(producer)
    assert rig.done(answer) == producer
    assert rig.current() is TransactionState.COMPLETE_COMMIT


# The first protocol


@ENDS
def test_end_without_a_transaction(commit: bool) -> None:
    rig = Transactions()
    assert rig.end((1000, 0)) == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert rig.end(rig.producer(), commit=commit) == WRONG


@ENDS
def test_end_again_is_the_same_end(commit: bool) -> None:
    rig = Transactions()
    producer = rig.prepared(commit=commit)
    assert rig.end(producer, commit=commit) == CONCURRENT
    assert rig.end(producer, commit=not commit) == WRONG
    rig.settle()
    assert rig.end(producer, commit=commit) == producer
    assert rig.end(producer, commit=not commit) == WRONG
    rig.crash()
    assert rig.end(producer, commit=commit) == producer


@VERSIONS
def test_who_is_not_the_producer(version: int) -> None:
    rig = Transactions()
    rig.ongoing(version=version)
    mapping = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert rig.end((3009, 0), version=version) == mapping
    assert rig.end((1000, 3), version=version) == FENCED
    assert rig.end((1000, -1), version=version) == FENCED
    assert rig.current() is TransactionState.ONGOING


# The second protocol


@ENDS
def test_each_end_bumps_the_epoch(commit: bool) -> None:
    rig = Transactions()
    producer = rig.ongoing(version=2)
    for epoch in (1, 2, 3):
        producer = rig.done(rig.end(producer, commit=commit, version=2))
        assert producer == (1000, epoch)
        rig.done(rig.add(producer, A0, version=2))


@ENDS
@pytest.mark.parametrize("crashes", [False, True])
def test_end_again_with_the_epoch_before(commit: bool, crashes: bool) -> None:
    rig = Transactions()
    after = rig.prepared(commit=commit, version=2)
    before = (1000, 0)
    assert rig.end(before, commit=commit, version=2) == CONCURRENT
    rig.settle()
    if crashes:
        rig.crash()
    assert rig.end(before, commit=commit, version=2) == after


def test_two_ends_race() -> None:
    rig = Transactions()
    producer = rig.ongoing(version=2)
    first = rig.end(producer, commit=True, version=2)
    second = rig.end(producer, commit=False, version=2)
    assert rig.done(first) == (1000, 1)
    assert second == CONCURRENT
    assert rig.end(producer, commit=False, version=2) == WRONG
    assert rig.current() is TransactionState.COMPLETE_COMMIT

    producer = (1000, 1)
    rig.done(rig.add(producer, A0, version=2))
    rig.done(rig.end(producer, commit=False, version=2))
    assert rig.end(producer, commit=True, version=2) == WRONG
    assert rig.current() is TransactionState.COMPLETE_ABORT


def test_a_late_end_does_not_touch_the_next_transaction() -> None:
    rig = Transactions()
    before = rig.ongoing(version=2)
    after = rig.done(rig.end(before, version=2))
    rig.done(rig.add(after, A0, version=2))
    for commit in (True, False):
        assert rig.end(before, commit=commit, version=2) == FENCED
    assert rig.current() is TransactionState.ONGOING


def test_an_abort_needs_no_partitions_and_a_commit_does() -> None:
    rig = Transactions()
    producer = rig.producer()
    assert rig.end(producer, commit=True, version=2) == WRONG
    assert rig.done(rig.end(producer, commit=False, version=2)) == (1000, 1)
    assert rig.end((1000, 1), commit=True, version=2) == WRONG
    assert rig.done(rig.end((1000, 1), commit=False, version=2)) == (1000, 2)
    assert rig.current() is TransactionState.COMPLETE_ABORT


def test_who_was_shut_out_by_another_producer_does_not_get_its_epoch() -> None:
    rig = Transactions()
    zombie = rig.ongoing(version=2)
    rig.done(rig.init())
    for commit in (True, False):
        assert rig.end(zombie, commit=commit, version=2) == FENCED
    rig.crash()
    assert rig.end(zombie, commit=True, version=2) == FENCED


def test_an_end_of_the_first_protocol_is_not_one_of_the_second() -> None:
    rig = Transactions()
    rig.producer()
    producer = rig.done(rig.init())
    rig.done(rig.add(producer, A0))
    rig.done(rig.end(producer))
    assert rig.end((1000, 0), version=2) == FENCED


@ENDS
def test_t161_the_last_epoch_ends_with_a_new_producer_id(commit: bool) -> None:
    rig = Transactions()
    last = rig.ongoing(32766, version=2)
    answer = rig.end(last, commit=commit, version=2)
    rig.flush()
    assert answer.result() == (1001, 0)
    rig.crash()  # the new id is in the log
    (markers,) = rig.settle()
    assert (markers.producer_id, markers.producer_epoch) == (1000, 32767)
    assert rig.get().producer == (1001, 0)
    assert rig.end(last, commit=commit, version=2) == (1001, 0)
    rig.done(rig.add((1001, 0), A0, version=2))
    assert rig.end(last, commit=commit, version=2) == (
        ErrorCode.INVALID_PRODUCER_ID_MAPPING
    )
    assert rig.current() is TransactionState.ONGOING


def test_t161_without_a_producer_id_the_end_waits() -> None:
    rig = Transactions()
    last = rig.ongoing(32766, version=2)
    rig.producer_ids.is_empty = True
    assert rig.end(last, version=2) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert rig.current() is TransactionState.ONGOING
    rig.producer_ids.is_empty = False
    assert rig.done(rig.end(last, version=2)) == (1001, 0)


def test_only_the_transaction_that_is_meant_ends() -> None:
    rig = Transactions()
    rig.ongoing()
    other = rig.done(rig.init(transactional_id="u"))
    rig.done(rig.add(other, A0, transactional_id="u"))
    rig.done(rig.end(other, transactional_id="u"))
    assert rig.get(ID).state is TransactionState.ONGOING

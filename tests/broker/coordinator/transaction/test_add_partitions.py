"""AddPartitionsToTxn: which partitions take part."""

import pytest

from odradek.broker.coordinator.transaction.states import TransactionState
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode
from tests.broker.coordinator.transaction.rig import A0, A1, B0, Transactions

FENCED = ErrorCode.PRODUCER_FENCED
NOT_IN_IT = ErrorCode.TRANSACTION_ABORTABLE


def test_partitions_are_added_when_that_is_durable() -> None:
    rig = Transactions()
    producer = rig.producer()
    answer = rig.add(producer, A0, B0)
    assert isinstance(answer, Parked)
    assert not answer.done()
    rig.flush()
    assert answer.result() == ErrorCode.NONE
    assert rig.current() is TransactionState.ONGOING
    assert rig.get().start_ms == rig.clock.now_ms()


def test_partitions_that_are_there_are_not_written_again() -> None:
    rig = Transactions()
    producer = rig.ongoing()
    size = len(rig.fake.log)
    assert rig.add(producer, A0) == ErrorCode.NONE
    assert rig.add(producer) == ErrorCode.NONE
    assert len(rig.fake.log) == size


def test_a_repeated_request_waits_for_the_first() -> None:
    rig = Transactions()
    producer = rig.producer()
    rig.add(producer, A0)
    again = rig.add(producer, A0)
    verified = rig.verify(producer, A0)
    assert not again.done()
    assert not verified.done()
    rig.flush()
    assert again.result() == ErrorCode.NONE
    assert verified.result() == {A0: ErrorCode.NONE}


def test_who_is_not_the_producer() -> None:
    rig = Transactions()
    unknown = rig.add((1000, 0), A0)
    assert unknown == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    rig.ongoing()
    for ask in (rig.add, rig.verify):
        assert ask((3009, 0), A0) == ErrorCode.INVALID_PRODUCER_ID_MAPPING
        assert ask((1000, -1), A0) == FENCED
        assert ask((1000, 1), A0) == FENCED


def test_a_transaction_that_is_being_ended_is_waited_for() -> None:
    rig = Transactions()
    producer = rig.prepared()
    for ask in (rig.add, rig.verify):
        assert ask(producer, A0) == ErrorCode.CONCURRENT_TRANSACTIONS
    rig.settle()
    assert rig.done(rig.add(producer, A1)) == ErrorCode.NONE
    assert rig.get().partitions == (A1,)


def test_the_next_producer_id_is_waited_for() -> None:
    rig = Transactions()
    producer = rig.ongoing(32766, version=2)
    answer = rig.end(producer, version=2)
    rig.flush()
    assert answer.result() == (1001, 0)
    assert rig.add((1001, 0), A0) == ErrorCode.CONCURRENT_TRANSACTIONS
    rig.settle()
    assert rig.done(rig.add((1001, 0), A0)) == ErrorCode.NONE


def test_verification_adds_nothing() -> None:
    rig = Transactions()
    producer = rig.ongoing()
    size = len(rig.fake.log)
    assert rig.verify(producer, A0, A1) == {A0: ErrorCode.NONE, A1: NOT_IN_IT}
    assert len(rig.fake.log) == size
    rig.done(rig.end(producer))
    assert rig.verify(producer, A0) == {A0: NOT_IN_IT}


@pytest.mark.parametrize("version", [0, 2])
def test_the_version_of_the_client_is_written_down(version: int) -> None:
    rig = Transactions()
    rig.done(rig.add(rig.producer(), A0, version=version))
    rig.crash()
    assert rig.get().client_version == version

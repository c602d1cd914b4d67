"""The state of one partition of ``__transaction_state``."""

import pytest

from odradek.broker.coordinator.decision import Place
from odradek.broker.coordinator.transaction.records import TransactionRecord
from odradek.broker.coordinator.transaction.states import TransactionState
from odradek.broker.coordinator.transaction.transaction import Transaction
from odradek.protocol.errors import InvalidProducerIdMapping
from tests.broker.coordinator.transaction.rig import Transactions

PLACE = Place(0, 0)


def test_records_are_replayed() -> None:
    state = Transactions().state
    transaction = Transaction("x", 5, 1, 1000, 17)
    state.replay(TransactionRecord.of(transaction), PLACE)
    assert state.get("x") is transaction
    assert state.found("x") is transaction
    state.replay(TransactionRecord("x", None), PLACE)
    assert state.get("x") is None
    state.replay(TransactionRecord("x", None), PLACE)


def test_an_unknown_transactional_id() -> None:
    with pytest.raises(InvalidProducerIdMapping):
        Transactions().state.found("x")


def test_bytes_are_decoded() -> None:
    record = TransactionRecord.of(Transaction("x", 5, 1, 1000, 17))
    assert Transactions().state.decode(*record.encode()) == record


def test_markers_in_its_own_log_mean_nothing() -> None:
    rig = Transactions()
    rig.ongoing()
    before = rig.get()
    rig.state.end_transaction(Place(9, 0, 1000, 0), is_commit=True)
    assert rig.get() is before


def test_its_summary_counts_what_is_open_and_what_is_being_ended() -> None:
    rig = Transactions()
    assert set(rig.state.summary().values()) == {0}
    rig.ongoing()
    assert rig.state.summary() == {
        "transactional id": 1,
        "open transaction": 1,
        "prepared transaction": 0,
    }
    prepared = Transaction("y", 5, 1, 1000, 17, TransactionState.PREPARE_ABORT)
    rig.state.replay(TransactionRecord.of(prepared), PLACE)
    assert rig.state.summary()["prepared transaction"] == 1


def test_watchers_are_told_of_each_record() -> None:
    state = Transactions().state
    told: list[TransactionRecord] = []
    state.watchers.append(told.append)
    records = [
        TransactionRecord.of(Transaction("x", 5, 1, 1000, 17)),
        TransactionRecord("x", None),
    ]
    for record in records:
        state.replay(record, PLACE)
    assert told == records

"""The table of states."""

import pytest

from odradek.broker.coordinator.transaction.states import (
    BY_LABEL,
    TRANSITIONS,
    TransactionEvent,
    TransactionState,
    state_after,
)


def test_names_are_those_that_clients_know() -> None:
    assert list(BY_LABEL) == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]


def test_every_state_is_in_the_table() -> None:
    assert set(TRANSITIONS) == set(TransactionState)


def test_every_event_happens_somewhere() -> None:
    assert {each for known in TRANSITIONS.values() for each in known} == set(
        TransactionEvent
    )


def test_only_an_ongoing_transaction_is_committed() -> None:
    before = [
        state
        for state, known in TRANSITIONS.items()
        if TransactionEvent.COMMIT_DECIDED in known
    ]
    assert before == [TransactionState.ONGOING]


@pytest.mark.parametrize("state", list(TransactionState))
def test_a_decided_transaction_is_only_completed_the_same_way(
    state: TransactionState,
) -> None:
    known = TRANSITIONS[state]
    if not state.is_prepared:
        assert TransactionEvent.MARKERS_WRITTEN not in known
        return
    ((event, following),) = known.items()
    assert event is TransactionEvent.MARKERS_WRITTEN
    assert following.is_complete
    assert following.is_commit == state.is_commit


def test_what_a_state_does_not_name_cannot_happen_there() -> None:
    ongoing = TransactionState.ONGOING
    assert state_after(ongoing, TransactionEvent.PARTITIONS_ADDED) is ongoing
    with pytest.raises(AssertionError):
        state_after(ongoing, TransactionEvent.PRODUCER_BEGUN)


def test_prepared_complete_and_commit() -> None:
    assert [each.value for each in TransactionState if each.is_prepared] == [2, 3]
    assert [each.value for each in TransactionState if each.is_complete] == [4, 5]
    assert [each.value for each in TransactionState if each.is_commit] == [2, 4]

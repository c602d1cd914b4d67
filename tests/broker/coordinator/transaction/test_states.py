"""The table of states."""

import pytest

from odradek.broker.coordinator.transaction.states import (
    BY_LABEL,
    PREDECESSORS,
    TransactionState,
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


def test_every_state_has_predecessors() -> None:
    assert set(PREDECESSORS) == set(TransactionState)


def test_only_an_ongoing_transaction_is_committed() -> None:
    assert PREDECESSORS[TransactionState.PREPARE_COMMIT] == {TransactionState.ONGOING}


@pytest.mark.parametrize("state", list(TransactionState))
def test_a_decided_transaction_is_only_completed_the_same_way(
    state: TransactionState,
) -> None:
    commits = TransactionState.PREPARE_COMMIT in PREDECESSORS[state]
    aborts = TransactionState.PREPARE_ABORT in PREDECESSORS[state]
    assert commits == (state is TransactionState.COMPLETE_COMMIT)
    assert aborts == (state is TransactionState.COMPLETE_ABORT)


def test_prepared_complete_and_commit() -> None:
    assert [each.value for each in TransactionState if each.is_prepared] == [2, 3]
    assert [each.value for each in TransactionState if each.is_complete] == [4, 5]
    assert [each.value for each in TransactionState if each.is_commit] == [2, 4]

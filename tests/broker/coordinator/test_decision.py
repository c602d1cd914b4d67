"""Decisions are values: what they do not say means nothing is to happen."""

from odradek.broker.coordinator.decision import NO_PRODUCER, Decision, Place
from tests.broker.coordinator.tally import Counted


def test_a_bare_decision_writes_nothing_and_waits_for_nothing() -> None:
    decision = Decision("answer")
    assert decision.response == "answer"
    assert not decision.records
    assert not decision.reads_state
    assert decision.then is None
    assert decision.undo is None
    assert decision.producer is None


def test_records_are_replayed_unless_it_says_otherwise() -> None:
    assert Decision(records=[Counted("a", 1)]).is_replayed


def test_a_place_is_outside_of_transactions_unless_it_names_a_producer() -> None:
    assert Place(7, 1000).producer_id == NO_PRODUCER
    assert Place(7, 1000, 5, 1).producer_id == 5

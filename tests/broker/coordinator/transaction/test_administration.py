"""What administrators are told of transactions."""

from typing import Any

from odradek.broker.coordinator.transaction.administration import (
    TransactionFilter,
    decide_describe,
    decide_list,
    named_states,
)
from odradek.broker.coordinator.transaction.states import TransactionState
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode
from tests.broker.coordinator.transaction.rig import A0, ID, Transactions

EVERYTHING = TransactionFilter()


def scene() -> Transactions:
    """One transactional id with an open transaction, one without."""
    rig = Transactions()
    rig.ongoing()
    rig.done(rig.init(transactional_id="u"))
    return rig


def listed(rig: Transactions, **wanted: Any) -> list[str]:
    found = rig.decide(lambda state: decide_list(state, TransactionFilter(**wanted)))
    return [each.transactional_id for each in found]


def test_everything_is_listed() -> None:
    assert listed(scene()) == [ID, "u"]


def test_filters() -> None:
    rig = scene()
    assert listed(rig, states=frozenset({TransactionState.ONGOING})) == [ID]
    assert listed(rig, producer_ids=frozenset({1001, 5})) == ["u"]
    assert listed(rig, is_wanted="u".__eq__) == ["u"]
    nothing = frozenset({TransactionState.DEAD})
    assert listed(rig, states=nothing) == []


def test_a_duration_is_strictly_longer() -> None:
    rig = scene()
    ongoing = frozenset({TransactionState.ONGOING})
    rig.clock.advance(1000)
    assert listed(rig, states=ongoing, duration_ms=1000) == []
    assert listed(rig, states=ongoing, duration_ms=999) == [ID]
    assert listed(rig, states=ongoing, duration_ms=0) == [ID]


def test_names_of_states() -> None:
    states, unknown = named_states(["Ongoing", "Nope", "ongoing"])
    assert states == {TransactionState.ONGOING}
    assert unknown == ["Nope", "ongoing"]


def test_a_description() -> None:
    rig = scene()
    found = rig.decide(lambda state: decide_describe(state, ID, lambda found: found))
    assert found is rig.get()
    assert found.state.label == "Ongoing"


def test_a_description_waits_for_what_it_tells() -> None:
    rig = Transactions()
    rig.init()
    found = rig.decide(lambda state: decide_describe(state, ID, lambda found: found))
    assert isinstance(found, Parked)
    assert not found.done()
    rig.flush()
    assert found.result() is rig.get()


def test_an_unknown_transactional_id() -> None:
    rig = scene()
    rig.add((1000, 0), A0)
    answer = rig.decide(lambda state: decide_describe(state, "x", lambda found: found))
    assert answer == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND

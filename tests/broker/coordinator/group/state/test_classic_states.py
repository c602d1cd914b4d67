from odradek.broker.coordinator.group.state.classic_states import (
    PREDECESSORS,
    ClassicState,
)

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = ClassicState


def test_the_table_is_that_of_the_protocol() -> None:
    expected = {
        EMPTY: {PREPARING},
        PREPARING: {STABLE, COMPLETING, EMPTY},
        COMPLETING: {PREPARING},
        STABLE: {COMPLETING},
        DEAD: set(ClassicState),
    }
    assert expected == PREDECESSORS


def test_clients_know_the_states_by_these_names() -> None:
    assert [state.value for state in ClassicState] == [
        "Empty",
        "PreparingRebalance",
        "CompletingRebalance",
        "Stable",
        "Dead",
    ]

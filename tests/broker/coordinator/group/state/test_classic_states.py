from odradek.broker.coordinator.group.state.classic_states import (
    TRANSITIONS,
    ClassicEvent,
    ClassicState,
)

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = ClassicState


def test_the_table_is_that_of_the_protocol() -> None:
    following = {state: set(known.values()) for state, known in TRANSITIONS.items()}
    assert following == {
        EMPTY: {PREPARING, DEAD},
        PREPARING: {COMPLETING, EMPTY, DEAD},
        COMPLETING: {STABLE, PREPARING, DEAD},
        STABLE: {PREPARING, DEAD},
        DEAD: {DEAD},
    }


def test_an_event_leads_to_one_state_wherever_it_happens() -> None:
    for event in ClassicEvent:
        led = {known[event] for known in TRANSITIONS.values() if event in known}
        assert len(led) == 1, event


def test_clients_know_the_states_by_these_names() -> None:
    assert [state.value for state in ClassicState] == [
        "Empty",
        "PreparingRebalance",
        "CompletingRebalance",
        "Stable",
        "Dead",
    ]

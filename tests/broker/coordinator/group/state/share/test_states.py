from odradek.broker.coordinator.group.state.share.states import (
    NO_STATES,
    States,
    TopicStates,
)

T, U = b"t".ljust(16), b"u".ljust(16)


def topic(name: str, *numbers: int) -> TopicStates:
    return TopicStates(name, frozenset(numbers))


def test_a_state_is_begun_and_then_there() -> None:
    beginning = NO_STATES.beginning({T: topic("t", 0, 1)})
    assert beginning.initializing == {T: topic("t", 0, 1)}
    assert beginning.missing(T, 2) == {0, 1}
    begun = beginning.begun({T: topic("t", 1)})
    assert begun == States({T: topic("t", 0)}, {T: topic("t", 1)})
    assert begun.missing(T, 2) == {0}
    assert begun.begun({T: topic("t", 0)}).initializing == {}


def test_what_is_missing() -> None:
    states = States(initialized={T: topic("t", 0, 2)})
    assert states.missing(T, 4) == {1, 3}
    assert states.missing(T, 1) == set()
    assert states.missing(U, 2) == {0, 1}


def test_places_that_may_have_a_state() -> None:
    states = States({T: topic("t", 3)}, {T: topic("t", 1, 0), U: topic("u", 5)})
    assert list(states.places()) == [(T, 0), (T, 1), (T, 3), (U, 5)]


def test_those_of_a_topic_end() -> None:
    states = States({T: topic("t", 0)}, {T: topic("t", 1), U: topic("u", 0)})
    ending = states.ending([T])
    assert ending == States({}, {U: topic("u", 0)}, {T: "t"})
    assert list(ending.places()) == [(U, 0)]
    assert ending.without([T]) == States({}, {U: topic("u", 0)})
    assert ending.without([T, U]).is_empty
    assert states.ending([b"none".ljust(16)]) == states


def test_what_was_ending_may_begin_anew() -> None:
    ending = States(deleting={T: "t"})
    assert not ending.is_empty
    assert ending.beginning({T: topic("t", 0)}).deleting == {}
    assert ending.begun({T: topic("t", 0)}).deleting == {}

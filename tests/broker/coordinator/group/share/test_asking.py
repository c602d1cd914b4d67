from typing import Any

from odradek.broker.coordinator.group.share.asking import (
    begin_states,
    begun,
    delete_states,
    first_error,
    starts_of,
)
from odradek.broker.coordinator.group.state.share.states import TopicStates
from odradek.broker.coordinator.share.state import ShareKey
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import (
    CoordinatorNotAvailable,
    ErrorCode,
    KafkaError,
    NotCoordinator,
)
from tests.broker.coordinator.group.share.rig import GROUP, ShareGroups

T = b"t".ljust(16)
TOPICS = {T: TopicStates("t", frozenset({1, 0}))}
ZERO, ONE = ShareKey(GROUP, T, 0), ShareKey(GROUP, T, 1)


def test_states_begin_where_their_first_fetch_says() -> None:
    assert starts_of(GROUP, TOPICS) == {ZERO: -1, ONE: -1}


def test_only_those_without_an_error_have_begun() -> None:
    error = CoordinatorNotAvailable()
    assert begun(TOPICS, {ZERO: None, ONE: error}) == {
        T: TopicStates("t", frozenset({0}))
    }
    assert begun(TOPICS, {ZERO: error}) == {}
    assert first_error({ZERO: None, ONE: error}) is error
    assert first_error({ZERO: None}) is None


def test_who_answers_at_once_is_heard_at_once() -> None:
    groups, heard = ShareGroups(t=2), list[Any]()
    begin_states(groups.state, {ZERO: 4}, 2, heard.append)
    assert heard == [{ZERO: None}]
    delete_states(groups.state, [ZERO], heard.append)
    assert not groups.states.starts
    assert len(heard) == 2


def test_an_answer_that_comes_later_is_heard_in_a_turn_of_its_own() -> None:
    groups, heard = ShareGroups(t=2), list[Any]()
    groups.states.is_slow = True
    begin_states(groups.state, {ZERO: 4}, 2, heard.append)
    groups.states.answer_now()
    assert not heard
    groups.clock.advance(0)
    assert heard == [{ZERO: None}]


def test_what_goes_wrong_is_an_error_of_all() -> None:
    for failed, code in (
        (NotCoordinator(), ErrorCode.NOT_COORDINATOR),
        (RuntimeError("a bug"), ErrorCode.UNKNOWN_SERVER_ERROR),
    ):
        groups, heard = ShareGroups(t=2), list[Any]()
        broken: Parked[Any] = Parked()
        groups.states.delete = lambda *_, answer=broken: answer  # type: ignore[misc]
        delete_states(groups.state, [ZERO, ONE], heard.append)
        broken.set_exception(failed)
        groups.clock.advance(0)
        (results,) = heard
        assert results.keys() == {ZERO, ONE}
        for each in results.values():
            assert isinstance(each, KafkaError)
            assert each.code == code

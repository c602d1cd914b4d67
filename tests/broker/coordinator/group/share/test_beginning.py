"""Partitions get a state before anybody is assigned them."""

import pytest

from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    ErrorCode,
    KafkaError,
)
from tests.broker.coordinator.group.share.rig import GROUP, ShareGroups


def partitions(groups: ShareGroups) -> list[list[int]]:
    return [[key.partition for key in each] for each in groups.states.asked]


def test_states_begin_in_the_epoch_of_the_group_and_nowhere() -> None:
    groups = ShareGroups(t=2)
    groups.join("a")
    assert groups.states.epochs == [2]
    assert set(groups.states.starts.values()) == {-1}
    assert {key.group_id for key in groups.states.starts} == {GROUP}
    groups.join("b")
    assert partitions(groups) == [[0, 1]], "once"


def test_the_answer_waits_until_they_have_begun() -> None:
    groups = ShareGroups(t=2)
    groups.states.is_slow = True
    answer = groups.join("a")
    assert isinstance(answer, Parked)
    assert not answer.done()
    assert not groups.share_group.targets
    groups.states.answer_now()
    assert not answer.done(), "it may be in the middle of something else"
    groups.clock.advance(0)
    assert groups.told(answer.result()) == {"t": [0, 1]}


def test_all_who_ask_meanwhile_wait_with_it() -> None:
    groups = ShareGroups(t=2)
    groups.states.is_slow = True
    answers = [groups.join(name) for name in "abc"]
    groups.states.answer_now()
    groups.clock.advance(0)
    told = [groups.told(answer.result()) for answer in answers]
    assert told == [{"t": [0, 1]}, {"t": [1]}, {"t": [0]}]
    assert partitions(groups) == [[0, 1]]


def test_what_was_not_asked_for_at_first_is_asked_for_then() -> None:
    groups = ShareGroups(t=1, u=2)
    groups.states.is_slow = True
    first, second = groups.join("a"), groups.join("b", ["u"])
    groups.states.answer_now()
    groups.clock.advance(0)
    assert not second.done()
    groups.states.answer_now()
    groups.clock.advance(0)
    assert groups.told(second.result()) == {"u": [0, 1]}
    assert first.done()
    assert partitions(groups) == [[0], [0, 1]]


def test_who_may_not_begin_is_not_assigned_and_tried_again() -> None:
    groups = ShareGroups(t=2)
    groups.states.refused[1] = CoordinatorLoadInProgress()
    assert groups.told(groups.join("a")) == {"t": [0]}
    assert groups.told(groups.beat_as("a")) is None
    assert partitions(groups) == [
        [0, 1],
        [1],
    ]
    groups.states.refused.clear()
    assert groups.told(groups.beat_as("a")) == {"t": [0, 1]}


def test_nobody_waits_for_a_shard_that_is_gone() -> None:
    groups = ShareGroups(t=2)
    groups.states.is_slow = True
    answer = groups.join("a")
    groups.state.on_unloaded(CoordinatorNotAvailable())
    assert answer.result().error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    groups.states.answer_now()
    groups.clock.advance(0)


def test_what_cannot_be_written_is_refused() -> None:
    groups = ShareGroups(t=2)
    groups.fail_appends()
    answer = groups.join("a")
    assert isinstance(answer, KafkaError)
    assert not groups.states.asked
    assert not groups.state.share_groups


def test_what_has_begun_and_cannot_be_noted_is_refused() -> None:
    groups = ShareGroups(t=2)
    groups.states.is_slow = True
    answer = groups.join("a")
    groups.fail_appends()
    groups.states.answer_now()
    groups.clock.advance(0)
    assert answer.result().error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    groups.fake.refusal = None
    groups.states.is_slow = False
    assert groups.told(groups.join("a")) == {"t": [0, 1]}


def test_an_answer_that_never_comes_right_is_an_error() -> None:
    groups = ShareGroups(t=1)
    broken: Parked[None] = Parked()
    groups.states.initialise = lambda *_: broken  # type: ignore[method-assign]
    answer = groups.join("a")
    broken.set_exception(RuntimeError("a bug"))
    groups.clock.advance(0)
    assert groups.told(answer.result()) == {}


def test_after_a_stop_in_between_they_begin_again() -> None:
    groups = ShareGroups(t=2)
    groups.states.is_slow = True
    groups.join("a")
    groups.reload()
    assert groups.share_group.states.initializing
    groups.states.is_slow = False
    assert groups.told(groups.beat_as("a", 0, ["t"])) == {"t": [0, 1]}
    assert not groups.share_group.states.initializing


def test_a_bug_keeps_nobody_waiting() -> None:
    groups = ShareGroups(t=1)
    groups.states.initialise = None  # type: ignore[assignment]
    with pytest.raises(TypeError):
        groups.join("a")
    assert not groups.state.beginnings

from typing import NamedTuple

import pytest

from odradek.broker.replica.waiting.delayed_answer import DelayedAnswer
from odradek.broker.replica.waiting.purgatory import Purgatory
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.clock import FakeClock

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


class Result(NamedTuple):
    error_code: int = 0


class Wait(DelayedAnswer[Result, str]):
    """Done with a partition when its name is in ``over``."""

    __slots__ = ("looked_at", "over")

    def __init__(self, parked: Parked) -> None:
        results = {FIRST: Result(), SECOND: Result()}
        super().__init__(results, {FIRST: "first", SECOND: "second"}, parked, dict)
        self.over: set[str] = set()
        self.looked_at: list[TopicPartition] = []

    def _look_at(self, key: TopicPartition) -> None:
        self.looked_at.append(key)
        if self._pending[key] in self.over:
            del self._pending[key]


@pytest.fixture
def wait() -> Wait:
    return Wait(Parked())


def test_it_answers_when_every_partition_is_done(wait: Wait) -> None:
    wait.over = {"first"}
    assert not wait.try_complete()
    wait.over = {"first", "second"}
    assert wait.try_complete_for(SECOND)
    assert wait._parked.result() == {FIRST: Result(), SECOND: Result()}


def test_only_the_partition_that_changed_is_looked_at(wait: Wait) -> None:
    wait.try_complete_for(SECOND)
    wait.try_complete_for(TopicPartition("t", 9))
    assert wait.looked_at == [SECOND]


def test_what_is_pending_when_the_time_is_over_is_said_to_be_so() -> None:
    clock = FakeClock()
    purgatory: Purgatory[TopicPartition] = Purgatory("Wait", clock, 1000)
    wait = Wait(Parked())
    wait.over = {"first"}
    purgatory.try_complete_else_watch(wait, [FIRST, SECOND], 100)
    clock.advance(100)
    assert wait._parked.result() == {
        FIRST: Result(),
        SECOND: Result(ErrorCode.REQUEST_TIMED_OUT),
    }


def test_an_error_reaches_the_one_who_asked(wait: Wait) -> None:
    wait.on_error(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        wait._parked.result()
    wait.on_error(ZeroDivisionError())  # once is enough

from odradek.broker.replica.waiting.gathering import (
    GATHERING_MS,
    PASSES_MAX,
    Gathering,
)
from tests.fakes.clock import FakeClock


class Gathered:
    """A session whose fetches are told by the test who was acknowledged."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.answered_count = 0
        self.gathering = Gathering()

    def begin(self, acknowledged_count: int) -> bool:
        return self.gathering.begin(acknowledged_count, self.clock, self._answer)

    def append(self, count: int = 1) -> list[bool]:
        return [self.gathering.note_append() for _ in range(count)]

    def wait(self) -> None:
        self.clock.advance(GATHERING_MS)

    def fail(self) -> None:
        """A fetch that waits in vain; so many before it did not wait at all."""
        while not self.begin(2):
            self.gathering.end()
        self.wait()

    def _answer(self) -> None:
        self.answered_count += 1


def test_it_waits_until_as_many_have_come() -> None:
    fetch = Gathered()
    assert fetch.begin(3)
    assert fetch.append(3) == [False, False, True]
    assert not fetch.clock.timer_count
    assert fetch.append() == [True]  # what comes in the same turn


def test_those_that_are_there_count() -> None:
    fetch = Gathered()
    fetch.append(2)
    assert fetch.begin(3)
    assert fetch.append(3) == [False, False, True]


def test_who_is_alone_has_nothing_to_wait_for() -> None:
    fetch = Gathered()
    assert not fetch.begin(1)
    assert fetch.append() == [True]
    fetch.gathering.end()
    assert not fetch.begin(0)
    assert not fetch.clock.timer_count


def test_as_many_as_were_acknowledged_do_not_wait_for_others() -> None:
    fetch = Gathered()
    fetch.append(3)
    assert not fetch.begin(3)
    assert fetch.begin(4)


def test_one_of_eight_may_be_missing() -> None:
    fetch = Gathered()
    assert fetch.begin(8)
    assert fetch.append(7) == [False] * 6 + [True]


def test_what_is_there_in_time_is_answered() -> None:
    fetch = Gathered()
    assert fetch.begin(3)
    fetch.append()
    fetch.wait()
    assert fetch.answered_count == 1


def test_where_nothing_has_come_the_first_is_answered() -> None:
    fetch = Gathered()
    assert fetch.begin(3)
    fetch.wait()
    assert not fetch.answered_count
    assert fetch.append() == [True]


def test_in_vain_it_is_tried_less_and_less_often() -> None:
    fetch, passes = Gathered(), []
    for _ in range(10):
        fetch.fail()
        passes.append(0)
        while not fetch.begin(2):
            passes[-1] += 1
    assert (
        passes
        == [1, 2, 4, 8, 16, 32, 64, 64, 64, 64]
        == [min(1 << each, PASSES_MAX) for each in range(10)]
    )
    assert fetch.append(2) == [False, True]
    assert fetch.begin(3)  # it was not in vain


def test_what_was_told_is_not_counted() -> None:
    fetch = Gathered()
    fetch.append(2)
    fetch.gathering.end()
    assert fetch.begin(2)
    fetch.gathering.end()
    assert not fetch.clock.timer_count
    assert fetch.append() == [True]

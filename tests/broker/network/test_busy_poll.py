from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from odradek.broker.network.busy_poll import (
    PAUSE_MAX,
    PAUSE_MIN,
    ROUND,
    BusyPoll,
    busy_poll,
)
from odradek.broker.network.listener import Listener
from tests.fakes.client import Client
from tests.fakes.network import fake_network, settle

if TYPE_CHECKING:
    from collections.abc import Callable

WINDOW_NS = 50_000


class Loop:
    """A busy poll whose time and whose loop the test turns by hand."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.callbacks: list[Callable[[], None]] = []
        self.poll = BusyPoll(50, lambda: self.now_ns, self.callbacks.append)

    def answer(self, count: int = 1) -> None:
        for _ in range(count):
            self.poll.note_answered()

    def turn(self, duration_ns: int = 1000) -> None:
        self.now_ns += duration_ns
        callbacks, self.callbacks[:] = self.callbacks[:], []
        for callback in callbacks:
            callback()

    def hit(self, count: int) -> None:
        """The next request comes after three turns."""
        for _ in range(count):
            self.answer()
            for _ in range(3):
                self.turn()

    def miss(self, count: int = 1) -> None:
        """Nothing comes in time."""
        for _ in range(count):
            self.answer()
            self.turn(WINDOW_NS)

    def pause(self) -> int:
        """How many answers go by before it is on."""
        count = 0
        while not self.poll.is_on:
            self.answer()
            count += 1
        self.turn(WINDOW_NS)
        return count


def test_it_is_tried_after_some_answers_and_goes_on_while_it_pays() -> None:
    loop = Loop()
    loop.answer(PAUSE_MIN - 1)
    assert not loop.poll.is_on
    loop.hit(20 * ROUND)
    assert loop.poll.is_on


def test_the_loop_turns_until_the_time_is_over() -> None:
    loop = Loop()
    loop.answer(PAUSE_MIN)
    for _ in range(49):
        assert len(loop.callbacks) == 1
        loop.turn()
    assert len(loop.callbacks) == 1
    loop.turn()
    assert loop.callbacks == []
    assert loop.poll.is_on  # one miss is none


def test_each_answer_begins_the_time_anew_and_one_callback_is_enough() -> None:
    loop = Loop()
    loop.answer(PAUSE_MIN)
    loop.now_ns = WINDOW_NS - 1
    loop.answer(5)
    assert len(loop.callbacks) == 1
    loop.turn(WINDOW_NS - 1)
    assert len(loop.callbacks) == 1


def test_a_loop_that_is_busy_anyway_is_left_alone() -> None:
    loop = Loop()
    loop.answer(PAUSE_MIN)
    for _ in range(ROUND // 4):  # four answers in every turn
        assert loop.poll.is_on
        loop.answer(4)
        loop.turn()
    assert not loop.poll.is_on
    loop.turn(WINDOW_NS)
    assert loop.callbacks == []


def test_it_stops_at_once_when_requests_come_too_late() -> None:
    loop = Loop()
    loop.answer(PAUSE_MIN - 1)
    loop.miss(4)
    assert loop.poll.is_on
    loop.miss()
    assert not loop.poll.is_on
    assert loop.callbacks == []


def test_misses_of_another_round_do_not_count() -> None:
    loop = Loop()
    loop.answer(PAUSE_MIN - 1)
    for _ in range(4):
        loop.miss(4)
        loop.hit(ROUND - 4)
    assert loop.poll.is_on


def test_each_vain_try_comes_after_twice_as_many_answers_as_the_last() -> None:
    loop = Loop()
    pauses = []
    for _ in range(9):
        pauses.append(loop.pause())
        loop.miss(4)
        assert not loop.poll.is_on
    assert pauses == [64, 64, 128, 256, 512, 1024, 2048, PAUSE_MAX, PAUSE_MAX]


def test_a_round_that_pays_makes_the_pauses_short_again() -> None:
    loop = Loop()
    for _ in range(5):
        loop.pause()
        loop.miss(4)
    loop.pause()
    loop.hit(2 * ROUND)
    loop.miss(5)
    assert loop.pause() == PAUSE_MIN


async def test_a_real_loop_turns_for_it() -> None:
    poll = BusyPoll(1, iter([0, 500, 999, 1000]).__next__)
    for _ in range(PAUSE_MIN):
        poll.note_answered()
    await settle()
    with pytest.raises(StopIteration):  # the time was asked until it was over
        poll.note_answered()


def test_who_has_one_cpu_needs_it_for_the_client() -> None:
    assert busy_poll(50, 1.5) is None
    assert busy_poll(0, 8) is None
    assert busy_poll(50, 2) is not None


class Counting(BusyPoll):
    """Counts the answers that have left."""

    def __init__(self) -> None:
        super().__init__(50)
        self.count = 0

    def note_answered(self) -> None:
        self.count += 1


def client_with(poll: BusyPoll) -> Client:
    network, _ = fake_network()
    return Client(Listener("PLAINTEXT", "", 0, replace(network, busy_poll=poll)))


async def test_a_connection_says_when_its_answers_have_left() -> None:
    poll = Counting()
    client = client_with(poll)
    client.ask("now:1")
    assert (client.answers, poll.count) == (["now:1"], 1)


async def test_while_an_answer_waits_for_the_disk_nobody_looks() -> None:
    poll = Counting()
    client = client_with(poll)
    client.ask("park:1")
    assert poll.count == 0
    client.dispatcher.resolve("park:1")
    await settle()
    assert (client.answers, poll.count) == (["park:1"], 1)

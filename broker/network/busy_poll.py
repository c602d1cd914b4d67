"""Looks for the next request a little longer before the broker goes to sleep.

A client that sends its next request when it has the answer to the last is answered in
20 µs, and then as much again is spent on the broker's falling asleep and being woken:
by the system, in both processes. So while it pays, the loop turns without waiting for
some microseconds after an answer, by a callback that asks for another turn. It costs
the CPU time in which the broker would have slept, and only that.

It pays as long as the next request nearly always comes in that time, and not at once:
of a loop that has always something to do nothing is to be gained. Both are counted, in
rounds of answers; after one that did not pay a number of them goes by before the next
try, twice as many each time.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROUND = 32  # answers after which it is judged
_MISSES_MAX = 4  # in a round: nothing came in time
_LOOKS_MIN = 2  # for each answer, or the loop was busy anyway
PAUSE_MIN = 64  # answers
PAUSE_MAX = 4096


class BusyPoll:
    """Keeps the loop awake for ``window_us`` after an answer, while that pays."""

    __slots__ = (
        "_is_looking",
        "_is_on",
        "_look_count",
        "_miss_count",
        "_next_turn",
        "_now_ns",
        "_pause",
        "_until_decision",
        "_until_ns",
        "_window_ns",
    )

    def __init__(
        self,
        window_us: int,
        now_ns: Callable[[], int] = time.perf_counter_ns,
        next_turn: Callable[[Callable[[], None]], object] | None = None,
    ) -> None:
        """``next_turn`` has the loop call something in its next turn."""
        self._window_ns = window_us * 1000
        self._now_ns = now_ns
        self._next_turn = next_turn or _next_turn
        self._is_on = self._is_looking = False
        self._look_count = self._miss_count = 0
        self._pause = PAUSE_MIN
        self._until_decision = PAUSE_MIN  # answers
        self._until_ns = 0

    @property
    def is_on(self) -> bool:
        """Whether the loop stays awake after an answer."""
        return self._is_on

    def note_answered(self) -> None:
        """Answers have just left, and the client may ask again."""
        self._until_decision -= 1
        if not self._until_decision:
            self._decide()
        if self._is_on:
            self._until_ns = self._now_ns() + self._window_ns
            if not self._is_looking:
                self._is_looking = True
                self._next_turn(self._look)

    def _decide(self) -> None:
        pays = self._look_count >= _LOOKS_MIN * ROUND
        if not self._is_on:
            self._is_on, self._until_decision = True, ROUND
        elif pays:
            self._pause, self._until_decision = PAUSE_MIN, ROUND
        else:
            self._turn_off()
        self._look_count = self._miss_count = 0

    def _turn_off(self) -> None:
        self._is_on, self._until_decision = False, self._pause
        self._pause = min(2 * self._pause, PAUSE_MAX)

    def _look(self) -> None:
        """Called in every turn of the loop, which therefore does not wait."""
        self._look_count += 1
        if self._now_ns() < self._until_ns:
            self._next_turn(self._look)
            return
        self._is_looking = False
        self._miss_count += 1
        if self._miss_count > _MISSES_MAX and self._is_on:
            self._turn_off()


class AtOnce:
    """In its place, for who is not in yet: its answers wait for nobody else's.

    It waits for each of them, and a turn of the loop for each is a tenth of a login.
    """

    __slots__ = ()

    is_on = True

    def note_answered(self) -> None:
        """Nobody learns from these."""


def _next_turn(callback: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_soon(callback)


def busy_poll(window_us: int, cpus: float) -> BusyPoll | None:
    """None where it is not wanted, or where the client needs the CPU that it takes."""
    return BusyPoll(window_us) if window_us and cpus >= 2 else None

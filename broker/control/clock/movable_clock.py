"""The clock of a broker that tests steer: real time, moved, or standing still.

Timers are its own. While time goes by itself the loop wakes it for the next one. While
it is advanced time stands at the timer that is run: what is due runs in its order, also
what a timer arms meanwhile. What took real time is caught up with at the end, so the
clock is ahead by just what it was advanced.

What sleeps (the broker's jobs) would be woken a million times in a week. So who goes
to sleep while the clock is advanced sleeps for a `_PATIENCE`-th of the way that lies
behind at least, and at the end each is woken once more: whatever is to be found from
time to time has been found when `advance` returns. Timers are exact, but for those
that would never end (`_EXACT_STEPS`).
"""

from __future__ import annotations

import asyncio
import heapq
import math
import time
from typing import TYPE_CHECKING

from odradek.broker.runtime.clock import Clock

from .dial import Dial

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Settle = Callable[[], Awaitable[object]]
    OnMove = Callable[[int], object]

_NS_PER_MS = 1_000_000
_PATIENCE = 20
_EXACT_STEPS = 5_000
# Timers that were cancelled, and are more than those that were not, are swept out.
_CANCELLED_MAX = 1000


class MovableTimer:
    """A callback that has not run yet, or was cancelled."""

    __slots__ = ("_clock", "callback", "due_ns", "sequence")

    def __init__(
        self,
        clock: MovableClock,
        due_ns: int,
        sequence: int,
        callback: Callable[[], object],
    ) -> None:
        self._clock = clock
        self.due_ns = due_ns
        self.sequence = sequence
        self.callback: Callable[[], object] | None = callback

    def __lt__(self, other: MovableTimer) -> bool:
        return (self.due_ns, self.sequence) < (other.due_ns, other.sequence)

    def cancel(self) -> None:
        """Do not run the callback. Does nothing once it has run."""
        if self.callback is not None:
            self.callback = None
            self._clock.note_cancelled()


class MovableClock(Clock):
    """Both clocks of a broker; see the module."""

    is_exact = True

    def __init__(
        self,
        wall_ns: Callable[[], int] = time.time_ns,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.is_frozen = self.is_advancing = False
        self._wall = Dial(wall_ns)
        self._monotonic = Dial(monotonic_ns)
        self._wall_source = wall_ns
        self._timers: list[MovableTimer] = []
        self._sequence = self._cancelled_count = 0
        # Who sleeps: woken by the future, or by the timer.
        self._sleepers: dict[MovableTimer, asyncio.Future[None]] = {}
        self._are_timers_held = self._is_closed = False
        self._began_ns = self._step_count = 0
        self._patient: list[MovableTimer] = []
        self._handle: asyncio.TimerHandle | None = None
        self._wakes_ns = 0

    # What the broker asks. Every request does: so the dials are read here, without a
    # call that the machine's clock has not.

    def now_ms(self) -> int:
        """Milliseconds since the epoch, by the wall clock."""
        dial = self._wall
        if dial.held_ns is None:
            return (dial.source() + dial.offset_ns) // _NS_PER_MS
        return dial.held_ns // _NS_PER_MS

    def monotonic_ms(self) -> int:
        """Milliseconds since some moment in the past; never goes back."""
        dial = self._monotonic
        if dial.held_ns is None:
            return (dial.source() + dial.offset_ns) // _NS_PER_MS
        return dial.held_ns // _NS_PER_MS

    def call_later(
        self, delay_ms: float, callback: Callable[[], object]
    ) -> MovableTimer:
        """Run ``callback`` on the loop once ``delay_ms`` have passed."""
        now_ns = self._monotonic.now_ns()
        delay_ns = max(0, math.ceil(delay_ms * _NS_PER_MS))
        if self._step_count > _EXACT_STEPS:
            return self._add_patient(now_ns, delay_ns, callback)
        return self._add(now_ns + delay_ns, callback)

    async def sleep(self, delay_ms: float) -> None:
        """Return once ``delay_ms`` have passed, or at the end of an `advance`."""
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        now_ns = self._monotonic.now_ns()
        delay_ns = max(0, math.ceil(delay_ms * _NS_PER_MS))
        timer = self._add_patient(now_ns, delay_ns, lambda: _wake(woken))
        self._sleepers[timer] = woken
        try:
            await woken
        finally:
            del self._sleepers[timer]
            timer.cancel()

    # What tests ask

    @property
    def ahead_ms(self) -> int:
        """How far the wall clock is ahead of the machine's."""
        return round((self._wall.now_ns() - self._wall_source()) / _NS_PER_MS)

    def jump(self, delta_ms: int) -> None:
        """Move the wall clock alone, as a correction by NTP would."""
        self._wall.move(delta_ms * _NS_PER_MS)

    def freeze(self) -> None:
        """Let time stand still until `thaw`; `advance` moves it all the same."""
        self.is_frozen = True
        self._hold()

    def thaw(self) -> None:
        """Let time go on from where it stands."""
        if self.is_frozen:
            self.is_frozen = False
            if not self.is_advancing:
                self._wall.let_go()
                self._monotonic.let_go()
                self._arm()

    def hold_timers(self) -> None:
        """Run nothing that is due until `release_timers`, though time goes on."""
        self._are_timers_held = True
        self._disarm()

    def release_timers(self) -> None:
        """Run what is due now, and what comes."""
        self._are_timers_held = False
        self._arm()

    def close(self) -> None:
        """Go as the machine's clock does from now on; an `advance` ends."""
        self._is_closed = True
        self.thaw()
        self.release_timers()

    async def advance(
        self, delta_ms: int, settle: Settle, on_move: OnMove = int
    ) -> int:
        """Move both clocks; returns how many timers ran.

        Each timer that becomes due runs at its time, and ``settle`` is awaited behind
        it: all that it has brought about is then done. ``on_move`` is called before
        anything runs, and again whenever the clocks have moved, with the milliseconds
        that are left of the way.
        """
        assert not self.is_advancing
        self.is_advancing = True
        self._step_count = 0
        self._hold()
        self._began_ns = self._monotonic.now_ns()
        target_ns = self._began_ns + delta_ms * _NS_PER_MS
        try:
            await settle()
            on_move(delta_ms)
            await self._run_until(target_ns, settle, on_move)
            self._move_to(target_ns)
            on_move(0)
            self._began_ns = target_ns  # from here on everybody sleeps as he wants
            for timer in sorted(self._sleepers):
                woken = self._sleepers.get(timer)
                if woken is not None and not self._is_closed:
                    _wake(woken)
                    await settle()
                    await self._run_until(target_ns, settle, on_move)
            return self._step_count
        finally:
            self.is_advancing = False
            self._step_count = 0
            self._end_patience()
            if not self.is_frozen:
                self._wall.catch_up()
                self._monotonic.catch_up()
                self._arm()

    def note_cancelled(self) -> None:
        """A timer was cancelled: it stays in the heap for now."""
        self._cancelled_count += 1
        if self._cancelled_count > _CANCELLED_MAX and self._cancelled_count * 2 > len(
            self._timers
        ):
            self._timers = [each for each in self._timers if each.callback is not None]
            heapq.heapify(self._timers)
            self._cancelled_count = 0

    async def _run_until(self, target_ns: int, settle: Settle, on_move: OnMove) -> None:
        while not self._is_closed and (timer := self._take_due(target_ns)) is not None:
            if self._move_to(timer.due_ns):
                on_move((target_ns - timer.due_ns) // _NS_PER_MS)
            self._step_count += 1
            self._run(timer)
            await settle()

    def _move_to(self, moment_ns: int) -> bool:
        """Whether that is not yet over: it may have been late when all this began."""
        delta_ns = max(0, moment_ns - self._monotonic.now_ns())
        self._monotonic.move(delta_ns)
        self._wall.move(delta_ns)
        return delta_ns > 0

    def _hold(self) -> None:
        self._disarm()
        self._wall.hold()
        self._monotonic.hold()

    # Timers

    def _add(self, due_ns: int, callback: Callable[[], object]) -> MovableTimer:
        self._sequence += 1
        timer = MovableTimer(self, due_ns, self._sequence, callback)
        heapq.heappush(self._timers, timer)
        self._arm()
        return timer

    def _add_patient(
        self, now_ns: int, delay_ns: int, callback: Callable[[], object]
    ) -> MovableTimer:
        """A timer that is due later, when it is far that the clock is advanced."""
        least_ns = (now_ns - self._began_ns) // _PATIENCE if self.is_advancing else 0
        timer = self._add(now_ns + max(delay_ns, least_ns), callback)
        if least_ns > delay_ns:
            self._patient.append(timer)
        return timer

    def _end_patience(self) -> None:
        """What was to be later is due now."""
        now_ns = self._monotonic.now_ns()
        for timer in self._patient:
            timer.due_ns = min(timer.due_ns, now_ns)
        self._patient.clear()
        heapq.heapify(self._timers)

    def _take_due(self, moment_ns: int) -> MovableTimer | None:
        """The next timer that is due then, out of the heap."""
        timers = self._timers
        while timers and (timers[0].callback is None or timers[0].due_ns <= moment_ns):
            timer = heapq.heappop(timers)
            if timer.callback is not None:
                return timer
            self._cancelled_count -= 1
        return None

    def _run(self, timer: MovableTimer) -> None:
        callback, timer.callback = timer.callback, None
        assert callback is not None
        try:
            callback()
        except Exception as error:
            # As for the loop's own: the others run all the same.
            context = {"message": f"a timer failed: {callback}", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)

    def _arm(self) -> None:
        """Have the loop wake us for the next timer."""
        if self.is_frozen or self.is_advancing or self._are_timers_held:
            return
        if not self._timers:
            return
        due_ns = self._timers[0].due_ns
        if self._handle is not None:
            if self._wakes_ns <= due_ns:
                return
            self._handle.cancel()
        self._wakes_ns = due_ns
        wait_ms = max(0, math.ceil((due_ns - self._monotonic.now_ns()) / _NS_PER_MS))
        loop = asyncio.get_running_loop()
        self._handle = loop.call_later(wait_ms / 1000, self._on_time)

    def _disarm(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _on_time(self) -> None:
        self._handle = None
        now_ns = self._monotonic.now_ns()
        while (timer := self._take_due(now_ns)) is not None:
            self._run(timer)
        self._arm()


def _wake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)

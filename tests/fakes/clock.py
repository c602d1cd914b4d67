"""A clock that stands still until a test moves it."""

import asyncio
import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

from odradek.broker.runtime.clock import Clock


@dataclass(order=True)
class FakeTimer:
    due_ms: float
    sequence: int
    callback: Callable[[], object] = field(compare=False)
    is_cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        self.is_cancelled = True


class FakeClock(Clock):
    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self.wall_ms = now_ms
        self.elapsed_ms: float = 1_000_000
        self._timers: list[FakeTimer] = []
        self._sequence = 0

    def now_ms(self) -> int:
        return self.wall_ms

    def monotonic_ms(self) -> int:
        return int(self.elapsed_ms)

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> FakeTimer:
        self._sequence += 1
        timer = FakeTimer(self.elapsed_ms + delay_ms, self._sequence, callback)
        heapq.heappush(self._timers, timer)
        return timer

    async def sleep(self, delay_ms: float) -> None:
        woken = asyncio.get_running_loop().create_future()
        timer = self.call_later(delay_ms, lambda: woken.done() or woken.set_result(0))
        try:
            await woken
        finally:
            timer.cancel()

    @property
    def timer_count(self) -> int:
        return sum(not timer.is_cancelled for timer in self._timers)

    def jump_wall(self, delta_ms: int) -> None:
        """Move the wall clock alone, as a correction by NTP would."""
        self.wall_ms += delta_ms

    def advance(self, delta_ms: int) -> None:
        """Move both clocks; timers that become due run in their order."""
        target_ms = self.elapsed_ms + delta_ms
        wall_offset = self.wall_ms - int(self.elapsed_ms)
        while self._timers and self._timers[0].due_ms <= target_ms:
            timer = heapq.heappop(self._timers)
            if timer.is_cancelled:
                continue
            self.elapsed_ms = max(self.elapsed_ms, timer.due_ms)
            self.wall_ms = wall_offset + int(self.elapsed_ms)
            timer.callback()
        self.elapsed_ms = target_ms
        self.wall_ms = wall_offset + int(target_ms)

    async def tick(self, delta_ms: int = 0, turns: int = 10) -> None:
        """Advance; before and after it, all tasks run for some turns of the loop."""
        for _ in range(turns):
            await asyncio.sleep(0)
        self.advance(delta_ms)
        for _ in range(turns):
            await asyncio.sleep(0)

"""How long the event loop kept everybody waiting: its longest pause of late.

A beat is due every `BEAT_MS`. It comes late by what held the loop then: one callback,
or all that a turn of the loop had to do. A pause may begin up to `BEAT_MS` before the
beat is due, so it is shown at most so much too short, and never too long. What the
loop's thread computed meanwhile is told beside it: a pause with little of that was
spent waiting, for the disk or for a machine that is busy with others.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from .clock import TimerHandle

    CallLater = Callable[[float, Callable[[], None]], TimerHandle]

BEAT_MS = 10
WINDOW_S = 60.0
LONG_S = 0.05


class LoopPauses:
    """The pauses of the running loop, from `begin` to `stop`."""

    def __init__(
        self,
        *,
        now_s: Callable[[], float] = time.monotonic,
        cpu_s: Callable[[], float] = time.thread_time,
        call_later: CallLater | None = None,
    ) -> None:
        """``cpu_s`` is the CPU time of the thread that calls it, ``call_later`` by
        default that of the running loop.
        """
        self.long_count = 0  # those above `LONG_S`, since the start
        self._now_s = now_s
        self._cpu_s = cpu_s
        self._call_later = call_later
        # (seconds, CPU seconds) of this window and of the one before it.
        self._longest = self._longest_before = (0.0, 0.0)
        self._window_end_s = self._due_s = self._cpu_before_s = 0.0
        self._timer: TimerHandle | None = None

    @property
    def longest(self) -> tuple[float, float]:
        """The longest pause of the last one or two minutes, and its CPU time: seconds.

        Who asks once a minute misses none.
        """
        return max(self._longest, self._longest_before)

    def begin(self) -> None:
        """Begin to beat, on the running loop."""
        if self._call_later is None:
            self._call_later = asyncio.get_running_loop().call_later
        self._window_end_s = self._now_s() + WINDOW_S
        self._wait()

    def stop(self) -> None:
        """Beat no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self) -> None:
        self._due_s = self._now_s() + BEAT_MS / 1000
        self._cpu_before_s = self._cpu_s()
        assert self._call_later is not None
        self._timer = self._call_later(BEAT_MS / 1000, self._beat)

    def _beat(self) -> None:
        now_s = self._now_s()
        late_s = now_s - self._due_s
        if now_s >= self._window_end_s:
            self._longest_before, self._longest = self._longest, (0.0, 0.0)
            self._window_end_s = now_s + WINDOW_S
        if late_s > self._longest[0]:
            used_s = self._cpu_s() - self._cpu_before_s
            self._longest = late_s, min(used_s, late_s)
        if late_s > LONG_S:
            self.long_count += 1
        self._wait()

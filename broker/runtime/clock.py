"""Where time comes from: the one clock that every timer and timestamp uses.

Wall time (``now_ms``) is written into records and compared with what clients
say; it may jump. Deadlines and ages use ``monotonic_ms``, which never does.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol


class TimerHandle(Protocol):
    """A callback that has not run yet."""

    def cancel(self) -> None:
        """Do not run the callback. Does nothing once it has run."""


class Clock(ABC):
    """Time and timers of one broker; tests move it by hand."""

    # Whether nothing may be late: answers that wait then share no timers.
    is_exact = False

    @abstractmethod
    def now_ms(self) -> int:
        """Milliseconds since the epoch, by the wall clock."""

    @abstractmethod
    def monotonic_ms(self) -> int:
        """Milliseconds since some moment in the past; never goes back."""

    @abstractmethod
    def call_later(
        self, delay_ms: float, callback: Callable[[], object]
    ) -> TimerHandle:
        """Run ``callback`` on the loop once ``delay_ms`` have passed."""

    @abstractmethod
    async def sleep(self, delay_ms: float) -> None:
        """Return once ``delay_ms`` have passed."""


class SystemClock(Clock):
    """The clock of the machine and the timers of the running event loop."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch, by the wall clock."""
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        """Milliseconds of the monotonic clock."""
        return time.monotonic_ns() // 1_000_000

    def call_later(
        self, delay_ms: float, callback: Callable[[], object]
    ) -> TimerHandle:
        """Run ``callback`` on the running loop after ``delay_ms``."""
        return asyncio.get_running_loop().call_later(delay_ms / 1000, callback)

    async def sleep(self, delay_ms: float) -> None:
        """Return once ``delay_ms`` have passed."""
        await asyncio.sleep(delay_ms / 1000)

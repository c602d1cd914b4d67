"""How much happened in the last seconds, and how long to wait when it was too much.

As Apache Kafka reckons it: the last ``SAMPLES`` windows of a second, and never fewer
seconds than that, so that who was quiet may do ten seconds' worth at once.
"""

from __future__ import annotations

from collections import deque

SAMPLES = 11
WINDOW_MS = 1000


class Rate:
    """What happened, by windows of a second."""

    __slots__ = ("_windows",)

    def __init__(self) -> None:
        self._windows: deque[list[float]] = deque()  # begin in ms, amount

    def record(self, amount: float, now_ms: int) -> None:
        """``amount`` more has happened."""
        windows = self._windows
        if not windows or now_ms - windows[-1][0] >= WINDOW_MS:
            windows.append([now_ms, 0.0])
            self._forget(now_ms)
        windows[-1][1] += amount

    def per_second(self, now_ms: int) -> float:
        """What happened in a second, on the average of the last ones."""
        self._forget(now_ms)
        amount = sum(window[1] for window in self._windows)
        return amount * 1000 / self._elapsed_ms(now_ms)

    def excess_ms(self, limit: float, now_ms: int) -> int:
        """How long nothing may happen until it was ``limit`` a second again."""
        rate = self.per_second(now_ms)
        if rate <= limit:
            return 0
        elapsed_ms = self._elapsed_ms(now_ms)
        if limit <= 0:
            return elapsed_ms
        return round((rate - limit) / limit * elapsed_ms)

    def is_idle(self, now_ms: int) -> bool:
        """Whether nothing is left to remember."""
        self._forget(now_ms)
        return not self._windows

    def _forget(self, now_ms: int) -> None:
        windows = self._windows
        while windows and now_ms - windows[0][0] >= SAMPLES * WINDOW_MS:
            windows.popleft()

    def _elapsed_ms(self, now_ms: int) -> int:
        least_ms = (SAMPLES - 1) * WINDOW_MS
        if not self._windows:
            return least_ms
        elapsed_ms = now_ms - int(self._windows[0][0])
        # Whole windows that are missing count as if nothing had happened in them.
        missing = SAMPLES - 1 - elapsed_ms // WINDOW_MS
        return elapsed_ms + max(missing, 0) * WINDOW_MS

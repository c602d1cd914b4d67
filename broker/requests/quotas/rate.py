"""How much happened in the last seconds, and how long to wait when it was too much.

As Apache Kafka reckons it: the last windows, eleven of a second unless options say
otherwise, and never over less than all but one of them, so that who was quiet may do
ten seconds' worth at once.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple


class Windows(NamedTuple):
    """Over how many windows something is reckoned, and how long each is."""

    samples: int = 11
    size_ms: int = 1000

    @property
    def span_ms(self) -> int:
        """All of them together."""
        return self.samples * self.size_ms

    @property
    def elapsed_min_ms(self) -> int:
        """What is reckoned is always reckoned over as much as this, or more."""
        return max((self.samples - 1) * self.size_ms, 1)


class Rate:
    """What happened, by windows."""

    __slots__ = ("_begun", "_ends_ms", "_of", "_windows", "amount")

    def __init__(self, windows: Windows) -> None:
        self._of = windows
        self._windows: deque[list[float]] = deque()  # begin in ms, amount
        self._begun = [0.0, 0.0]  # the last of them
        self._ends_ms = 0  # when that one ends
        self.amount = 0.0  # of all that are not forgotten

    def record(self, amount: float, now_ms: int) -> bool:
        """``amount`` more has happened. Whether a window has begun with it."""
        begins = now_ms >= self._ends_ms
        if begins:
            self._ends_ms = now_ms + self._of.size_ms
            self._begun = [now_ms, 0.0]
            self._windows.append(self._begun)
            self._forget(now_ms)
        self._begun[1] += amount
        self.amount += amount
        return begins

    def per_second(self, now_ms: int) -> float:
        """What happened in a second, on the average of the last ones."""
        self._forget(now_ms)
        return self.amount * 1000 / self._elapsed_ms(now_ms)

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
        windows, span_ms = self._windows, self._of.span_ms
        if windows and now_ms - windows[0][0] >= span_ms:
            while windows and now_ms - windows[0][0] >= span_ms:
                windows.popleft()
            # Added up anew: what is taken off again leaves its rounding behind.
            self.amount = sum(window[1] for window in windows)

    def _elapsed_ms(self, now_ms: int) -> int:
        samples, size_ms = self._of
        if not self._windows:
            return max((samples - 1) * size_ms, size_ms)
        elapsed_ms = now_ms - int(self._windows[0][0])
        # Whole windows that are missing count as if nothing had happened in them.
        missing = samples - 1 - elapsed_ms // size_ms
        return max(elapsed_ms + max(missing, 0) * size_ms, 1)

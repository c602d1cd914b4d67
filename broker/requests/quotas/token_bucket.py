"""Tokens for what comes in bursts (KIP-599): so many a second, saved up to a limit."""

from __future__ import annotations


class TokenBucket:
    """One client's tokens. They may become fewer than none: then it must wait."""

    __slots__ = ("_burst_s", "_limit", "_refilled_ms", "tokens")

    def __init__(self, limit: float, now_ms: int, burst_s: float) -> None:
        """``limit`` tokens come in a second; those of ``burst_s`` may be saved, and are
        there.
        """
        self.tokens = limit * burst_s
        self._burst_s = burst_s
        self._limit = limit
        self._refilled_ms = now_ms

    def update(self, limit: float, now_ms: int) -> None:
        """Let ``limit`` come in a second from now on, and put in what has come."""
        elapsed_s = max(now_ms - self._refilled_ms, 0) / 1000
        most = limit * self._burst_s
        self.tokens = min(self.tokens + elapsed_s * self._limit, most)
        self._limit = limit
        self._refilled_ms = now_ms

    def take(self, count: float) -> None:
        """Take so many, whether they are there or not."""
        self.tokens -= count

    @property
    def wait_ms(self) -> int:
        """How long it takes until there is one that is not owed."""
        if self.tokens >= 0:
            return 0
        if self._limit <= 0:
            return int(self._burst_s * 1000)
        return round(-self.tokens / self._limit * 1000)

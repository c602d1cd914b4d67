"""Who is connected and has yet to log in: how many may be so, and for how long.

They cost memory and show nothing for it. Past ``max.connections.unauthenticated`` the
one that came first goes: a crowd of silent connections crowds out itself, and who logs
in at once is through before its turn comes. A sweep cuts off who takes longer than
``connection.authentication.timeout.ms``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from odradek.broker.runtime.clock import Clock

COUNT_OPTION = "max.connections.unauthenticated"
TIME_OPTION = "connection.authentication.timeout.ms"
# What a transport is asked for that had a handshake to make: the time counts, too.
CONNECTED_MS = "connected_ms"


class Stranger(Protocol):
    """A connection of somebody who is not known yet."""

    def cut(self, why: str, limit: str) -> None:
        """Close it at once; ``limit`` is the option that says so."""


class PreAuth:
    """The connections that wait for a login, over all listeners, the oldest first."""

    def __init__(self, clock: Clock, count_max: int, timeout_ms: int) -> None:
        self._clock = clock
        self._count_max = count_max
        self._timeout_ms = timeout_ms
        self._since_ms: dict[Stranger, int] = {}

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._since_ms)

    def enter(self, stranger: Stranger, since_ms: int | None = None) -> None:
        """Somebody has connected, now or then; of too many the oldest goes."""
        if since_ms is None:
            since_ms = self._clock.monotonic_ms()
        self._since_ms[stranger] = since_ms
        if len(self._since_ms) > self._count_max:
            oldest = next(iter(self._since_ms))
            del self._since_ms[oldest]
            oldest.cut("others have come since, and it has not logged in", COUNT_OPTION)

    def leave(self, stranger: Stranger) -> None:
        """It has logged in, or is gone."""
        self._since_ms.pop(stranger, None)

    def sweep(self) -> None:
        """Cut off who has had its time."""
        begun_ms = self._clock.monotonic_ms() - self._timeout_ms
        # Not in this order: who has made a handshake has entered once more since.
        late = [
            each for each, since_ms in self._since_ms.items() if since_ms <= begun_ms
        ]
        for stranger in late:
            self.leave(stranger)
            stranger.cut("it has not logged in", TIME_OPTION)

"""What strangers share: the memory of their requests, and the log lines about them.

Requests that are still arriving, or wait for their turn, hold memory, and their whole
buffers count. Past the limit, connections with a half-received frame are not read. One
of them may go on all the same: were all to wait for each other, nothing would ever be
freed.
"""

from __future__ import annotations

import logging
import sys
from collections import Counter
from typing import TYPE_CHECKING, Protocol

from odradek.protocol.errors import FrameTooLarge, MalformedRequest, TooManyObjects

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from odradek.broker.runtime.clock import Clock

_logger = logging.getLogger(__name__)

# The option that a request has reached which was refused so.
LIMITS: dict[type[MalformedRequest], str] = {
    FrameTooLarge: "socket.request.max.bytes",
    TooManyObjects: "request.objects.max",
}


class MemoryHolder(Protocol):
    """A connection, as far as the shared memory is concerned."""

    def memory_freed(self) -> None:
        """Read on: there is memory again."""


class RequestMemory:
    """The bytes of requests in memory, over all connections of the broker."""

    def __init__(self, limit: int) -> None:
        """``limit`` in bytes; -1 for none."""
        self.limit = limit if limit >= 0 else sys.maxsize
        self.used = 0
        # A dict is a set that keeps its order: who waits longest goes first.
        self._waiting: dict[MemoryHolder, None] = {}
        self._exempt: MemoryHolder | None = None

    @property
    def is_full(self) -> bool:
        """Whether more is held than may be."""
        return self.used > self.limit

    @property
    def waiting_count(self) -> int:
        """How many connections are not read for want of memory."""
        return len(self._waiting)

    def change(self, delta: int) -> None:
        """Count ``delta`` more bytes; wakes those who wait when it fits again."""
        self.used += delta
        assert self.used >= 0, self.used
        if delta < 0 and self._waiting and self.used <= self.limit:
            waiting, self._waiting = self._waiting, {}
            for holder in waiting:
                holder.memory_freed()

    def has_room(self, size: int) -> bool:
        """Whether ``size`` bytes may be held ready for what has yet to come.

        No more than a quarter of what is left: nobody's claim takes it from the others.
        """
        return size <= (self.limit - self.used) // 4

    def must_wait(self, holder: MemoryHolder) -> bool:
        """Whether ``holder`` may not read on; ``memory_freed`` tells it when."""
        if self.used <= self.limit:
            return False
        if self._exempt is None:
            self._exempt = holder
        if self._exempt is holder:
            return False
        self._waiting[holder] = None
        return True

    def leave(self, holder: MemoryHolder) -> None:
        """``holder`` has its whole frame, or is gone: the next one may go on."""
        self._waiting.pop(holder, None)
        if self._exempt is not holder:
            return
        self._exempt = next(iter(self._waiting), None)
        if self._exempt is not None:
            del self._waiting[self._exempt]
            self._exempt.memory_freed()


class LimitedLog:
    """Log lines about strangers: mostly one a second, the others are counted.

    ``hits`` says how often which limit was reached, by the name of its option.
    """

    INTERVAL_MS = 1000
    REPEAT_MS = 60_000
    FREE_MAX = 10
    KNOWN_MAX = 1000

    def __init__(
        self, clock: Clock, write: Callable[[str], None] = _logger.warning
    ) -> None:
        self.hits: Counter[str] = Counter()
        self._clock = clock
        self._write = write
        self._next_ms = 0
        self._suppressed = 0
        self._again_ms: dict[Hashable, int] = {}
        self._free_count, self._free_until_ms = 0, 0

    def warn_once(self, subject: Hashable, line: str) -> None:
        """`warn`, but of the same ``subject`` once a minute at most.

        Of a few subjects in a minute the line is written at once, whatever was written
        before it: nobody's line shall be lost behind another one.
        """
        now_ms, again_ms = self._clock.monotonic_ms(), self._again_ms
        if now_ms < again_ms.get(subject, now_ms):
            return
        if now_ms >= self._free_until_ms:
            self._free_count = self.FREE_MAX
            self._free_until_ms = now_ms + self.REPEAT_MS
        if self._free_count:
            self._free_count -= 1
            self._write(line)
        elif not self.warn(line):
            return
        if len(again_ms) >= self.KNOWN_MAX:
            again_ms.clear()
        again_ms[subject] = now_ms + self.REPEAT_MS

    def warn(self, line: str, limit: str | None = None) -> bool:
        """Write ``line``, unless another one has just been written.

        ``limit`` is the option that was reached, if it was one. Returns whether it
        was written.
        """
        if limit is not None:
            self.hits[limit] += 1
        now_ms = self._clock.monotonic_ms()
        if now_ms < self._next_ms:
            self._suppressed += 1
            return False
        if self._suppressed:
            line = f"{line} ({self._suppressed} more like this since the last line)"
        self._suppressed = 0
        self._next_ms = now_ms + self.INTERVAL_MS
        self._write(line)
        return True

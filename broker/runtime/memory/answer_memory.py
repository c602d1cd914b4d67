"""The memory of answers that clients have yet to read, over all connections.

What counts is what is really held: answers in the transports (the whole of one until
its last byte has left), answers that wait for their turn, and what fetches have copied
from the disk while they read on. Records that several connections have to send count
once. Up to ``UNCOUNTED_SIZE`` of a connection is not worth counting.

Clients that do not read get smaller answers long before the memory is full: a fetch may
have an eighth of what is left to all of them, and always one batch. So many slow
consumers have room, and each of them gets on. A quarter is kept for such small answers;
while it is in use, memory is short, and who hardly reads is cut off. When that is gone
as well, fetches wait, who came first goes first.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.storage.files.files import Buffer

UNCOUNTED_SIZE = 16 << 10
SMALL_SIZE = 64 << 10
_WOKEN_MAX = 50  # in one turn of the loop


class FetchHolder(Protocol):
    """A connection, as far as its fetches wait for memory."""

    def room_made(self) -> None:
        """Go on: there is memory for answers again."""


class AnswerMemory:
    """The bytes of answers in memory, and how many more a fetch may bring."""

    def __init__(self, limit: int = -1, fetch_max: int = sys.maxsize) -> None:
        """``limit`` in bytes, -1 for none; ``fetch_max`` is most for one fetch."""
        self.limit = limit if limit >= 0 else sys.maxsize
        self.used = 0
        self._fetch_max = fetch_max
        self._plenty = self.limit // 4 * 3
        self._small = min(SMALL_SIZE, self.limit // 16)
        # A dict is a set that keeps its order: who waits longest goes first.
        self._waiting: dict[FetchHolder, None] = {}
        # Of each large buffer in the transports, by its id, how many have it.
        self._holders: Counter[int] = Counter()
        self._is_waking = False
        self._judge()

    @property
    def waiting_count(self) -> int:
        """How many connections have a fetch that waits for memory."""
        return len(self._waiting)

    def change(self, delta: int) -> None:
        """Count ``delta`` more bytes; wakes those who wait when there is room again."""
        self.used += delta
        assert self.used >= 0, self.used
        self._judge()
        if self._waiting and not self.is_full:
            self._wake_soon()

    def hold(self, buffers: Iterable[Buffer]) -> None:
        """One more transport has ``buffers``, which were counted for it as a whole."""
        twice = 0
        for buffer in buffers:
            if len(buffer) > UNCOUNTED_SIZE:
                self._holders[id(buffer)] += 1
                if self._holders[id(buffer)] > 1:
                    twice += len(buffer)
        if twice:
            self.change(-twice)

    def let_go(self, buffers: Iterable[Buffer]) -> None:
        """One of those transports has sent them, and will be counted without them."""
        still_held = 0
        for buffer in buffers:
            if len(buffer) > UNCOUNTED_SIZE:
                self._holders[id(buffer)] -= 1
                if self._holders[id(buffer)]:
                    still_held += len(buffer)
                else:
                    del self._holders[id(buffer)]
        if still_held:
            self.change(still_held)

    def wait(self, holder: FetchHolder) -> None:
        """Call ``holder.room_made`` when there is room and its turn has come."""
        self._waiting[holder] = None

    def leave(self, holder: FetchHolder) -> None:
        """``holder`` is gone, or does not wait any more."""
        self._waiting.pop(holder, None)

    def _judge(self) -> None:
        left = self._plenty - self.used
        # Attributes, as every fetch asks for them.
        self.share = min(self._fetch_max, max(left // 8, self._small))
        self.is_short = left < 0
        # Whatever the limit: who reads all that he gets is served.
        self.is_full = self.used > 0 and self.used >= self.limit

    def _wake_soon(self) -> None:
        """Not at once: whoever has made room is in the middle of something."""
        if not self._is_waking:
            self._is_waking = True
            asyncio.get_running_loop().call_soon(self._wake)

    def _wake(self) -> None:
        self._is_waking = False
        try:
            for _ in range(min(len(self._waiting), _WOKEN_MAX)):
                if self.is_full:
                    return
                holder = next(iter(self._waiting))
                del self._waiting[holder]
                holder.room_made()
        finally:  # a bug of one connection is not the others' business
            if self._waiting and not self.is_full:
                self._wake_soon()

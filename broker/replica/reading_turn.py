"""How much fetches read in one turn of the loop: the others wait for the next ones.

Reading holds up the event loop, about a millisecond each MiB, and a turn has the
requests of all clients that have sent one. When the fetches of a turn have read
`TURN_SIZE_MAX`, each of the others gets a turn for itself, who came first goes first:
a crowd that catches up keeps nobody else waiting for long.
"""

from __future__ import annotations

import asyncio
from collections import deque

TURN_SIZE_MAX = 8 << 20


class ReadingTurn:
    """Whether there is more to read in this turn."""

    def __init__(self) -> None:
        self.is_over = False  # an attribute, as every fetch asks for it
        self._left = TURN_SIZE_MAX
        self._waiting: deque[asyncio.Future[None]] = deque()

    def note(self, size: int) -> None:
        """So many bytes were read in this turn, in one that is shared."""
        if self._left == TURN_SIZE_MAX:
            asyncio.get_running_loop().call_soon(self._begin)
        self._left -= size
        self.is_over = self._left <= 0

    def own(self) -> asyncio.Future[None]:
        """While this turn is over: done in one that nobody else reads in."""
        assert self.is_over, "or nobody would set it"
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        return turn

    def _begin(self) -> None:
        self._left, self.is_over = TURN_SIZE_MAX, False
        while self._waiting and not self.is_over:
            turn = self._waiting.popleft()
            if not turn.done():  # else its client has gone
                turn.set_result(None)
                self.note(TURN_SIZE_MAX)

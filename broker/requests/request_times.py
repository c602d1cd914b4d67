"""How long requests take: from a whole frame to its answer, one in 16 of each API.

Timing every request would cost each of them half a microsecond.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from typing import TYPE_CHECKING, Any

from odradek.broker.runtime.histogram import Histogram, exponential
from odradek.broker.runtime.parked import Parked

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from .registry import Answer, Settled

# A request is timed when its number has none of these bits.
SAMPLED = 0b1111
HALF_LIFE_MS = 60_000
# Milliseconds: 10 us to over a minute, in steps of a fifth.
_BOUNDS_MS = exponential(0.01, 100_000, 4)


class RequestTimes:
    """The times of one API, in milliseconds; ``histogram`` is of the last minutes."""

    __slots__ = ("count", "histogram")

    def __init__(self) -> None:
        self.histogram = Histogram(_BOUNDS_MS)
        self.count = 0

    def note(self, answer: Answer, began_s: float) -> Answer:
        """The answer to a request that began then; one that waits is timed as well.

        ``began_s`` is of ``time.perf_counter``.
        """
        if isinstance(answer, Parked) and not answer.done():
            told = answer.twin()

            def follow(done: Parked) -> None:
                self._observe(began_s)
                told.follow(done)

            answer.listen(follow)
            return told
        if isinstance(answer, asyncio.Future):
            answer.add_done_callback(lambda _: self._observe(began_s))
            return answer
        if inspect.iscoroutine(answer):
            return self._timed(answer, began_s)
        self._observe(began_s)
        return answer

    def _observe(self, began_s: float) -> None:
        self.count += 1
        self.histogram.observe((time.perf_counter() - began_s) * 1000)

    async def _timed(
        self, answering: Coroutine[Any, Any, Settled], began_s: float
    ) -> Settled:
        try:
            return await answering
        finally:
            self._observe(began_s)

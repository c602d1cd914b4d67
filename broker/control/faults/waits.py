"""``delay`` and ``hold``: requests that are done later, or answered later.

``at`` is "before" (nothing is done until then) or "after" (it is done, only the answer
waits). Answers keep their order: what the same connection asks next waits as well.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from typing import TYPE_CHECKING, Any

from odradek.broker.runtime.parked import Parked

from .action import AFTER, BEFORE, Action

if TYPE_CHECKING:
    from odradek.broker.control.fields import Fields
    from odradek.broker.requests.dispatch import Exchange

    from .call import Call, Proceed
    from .match import Match

_DELAY_MS_MAX = 3_600_000


class Delay(Action):
    """Lets requests or answers wait for ``ms``, more or less by up to ``jitter``."""

    name = "delay"

    def __init__(self, fields: Fields, match: Match) -> None:
        self.ms = fields.number("ms", at_least=0, at_most=_DELAY_MS_MAX)
        self.jitter = fields.number("jitter", 0, at_least=0, at_most=self.ms)
        self.at = fields.choice("at", (BEFORE, AFTER), BEFORE)
        self._random = random.Random(fields.number("seed", None))
        fields.end()

    def act(self, call: Call, proceed: Proceed) -> Exchange | bytes:
        """As if the network were slow."""
        delay_ms = self.ms + self._random.uniform(-self.jitter, self.jitter)
        clock = call.services.clock
        if self.at == BEFORE:
            return call.once(clock.sleep(delay_ms), proceed)

        def later(answer: Any) -> Parked[Any]:
            told: Parked[Any] = Parked()
            clock.call_later(delay_ms, lambda: told.set_result(answer))
            return told

        return call.changed(proceed(call.frame), later)


class Hold(Action):
    """Lets requests or answers wait until they are released."""

    name = "hold"

    def __init__(self, fields: Fields, match: Match) -> None:
        self.at = fields.choice("at", (BEFORE, AFTER), BEFORE)
        fields.end()
        self._held: deque[asyncio.Future[None]] = deque()

    @property
    def held(self) -> int:  # type: ignore[override]
        """How many wait."""
        return len(self._held)

    def act(self, call: Call, proceed: Proceed) -> Exchange | bytes:
        """Wait for somebody to release it."""
        if self.at == BEFORE:
            return call.once(self._wait(), proceed)

        def later(answer: Any) -> Parked[Any]:
            told: Parked[Any] = Parked()
            self._wait().add_done_callback(lambda _: told.set_result(answer))
            return told

        return call.changed(proceed(call.frame), later)

    def release(self, count: int | None = None) -> int:
        """The oldest first."""
        released = 0
        while self._held and released != count:
            future = self._held.popleft()
            if not future.done():  # its task was cancelled
                future.set_result(None)
            released += 1
        return released

    def _wait(self) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._held.append(future)
        return future

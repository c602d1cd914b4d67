"""When a store is asked again: after half a second, then twice as long, up to 30 s.

Each pause is cut at random, so that those who were refused together do not come back
together.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, TypeVar

from .errors import StoreAway

if TYPE_CHECKING:
    from collections.abc import Callable

_Answer = TypeVar("_Answer")
FIRST_PAUSE_S = 0.5
PAUSE_S_MAX = 30.0
GIVE_UP_AFTER_S = 120.0


class Retries:
    """Asks until there is an answer, or for too long."""

    def __init__(
        self,
        give_up_after_s: float = GIVE_UP_AFTER_S,
        *,
        pause: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._give_up_after_s = give_up_after_s
        self._pause = pause
        self._chance = chance
        self._now_s = now_s

    def run(self, ask: Callable[[], _Answer]) -> _Answer:
        """The answer.

        Raises:
            StoreAway: what ``ask`` raised last, when that went on for too long.
        """
        began_s = self._now_s()
        longest_s = FIRST_PAUSE_S
        while True:
            try:
                return ask()
            except StoreAway:
                waited_s = self._now_s() - began_s
                if waited_s + longest_s > self._give_up_after_s:
                    raise
            self._pause(longest_s * (0.5 + self._chance() / 2))
            longest_s = min(longest_s * 2, PAUSE_S_MAX)

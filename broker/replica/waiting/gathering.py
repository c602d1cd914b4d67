"""Whether a follower's fetch waits a moment, so that one answer brings more.

Who was just acknowledged mostly sends again at once. A fetch that is answered before
that brings the follower a few records, and those of all others wait for the next one,
which leaves when the few are appended and synced there. So a fetch by which several
were acknowledged, and that finds fewer, waits until as many have come, for
`GATHERING_MS` at the longest. When they do not come that is tried less and less often.

Invariant: where one alone was acknowledged, and nobody waits, nothing is kept back.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.runtime.clock import Clock, TimerHandle

GATHERING_MS: Final = 2
# Of so many that were acknowledged one may be missing.
_ONE_MAY_MISS: Final = 8
# In vain, it is left out so many times the next time, at the most.
PASSES_MAX: Final = 64


class Gathering:
    """What one follower's session gathers."""

    __slots__ = (
        "_appended_count",
        "_due_count",
        "_passes",
        "_passes_left",
        "_timer",
    )

    def __init__(self) -> None:
        self._appended_count = 0  # since the last answer
        self._due_count = 0  # so many are waited for
        self._passes = self._passes_left = 0
        self._timer: TimerHandle | None = None

    def begin(
        self, acknowledged_count: int, clock: Clock, answer: Callable[[], None]
    ) -> bool:
        """A fetch by which so many were acknowledged has come. Whether it waits.

        ``answer`` lets it go when its time is over, and is kept no longer: a session
        that is gone must not be held.
        """
        self._stop()
        expected_count = self._appended_count + acknowledged_count
        if self._appended_count >= acknowledged_count or expected_count < 2:
            return False
        if self._passes_left:
            self._passes_left -= 1
            return False
        self._due_count = expected_count - acknowledged_count // _ONE_MAY_MISS
        self._timer = clock.call_later(GATHERING_MS, partial(self._be_late, answer))
        return True

    def note_append(self) -> bool:
        """One batch more. Whether a fetch that waits is to be answered."""
        self._appended_count += 1
        if self._appended_count < self._due_count:
            return False
        if self._timer is not None:
            self._stop()
            self._passes = 0
        return True

    def end(self) -> None:
        """All that there is has been told."""
        self._stop()
        self._appended_count = 0

    def _be_late(self, answer: Callable[[], None]) -> None:
        """They do not come: what is there goes, and whatever comes next."""
        self._timer, self._due_count = None, 0
        self._passes = self._passes_left = min(2 * self._passes or 1, PASSES_MAX)
        if self._appended_count:
            answer()

    def _stop(self) -> None:
        self._due_count = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

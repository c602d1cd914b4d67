"""When the controllers answered heartbeats of this broker, for who watches it."""

from __future__ import annotations

from typing import Final

_LATE_AFTER: Final = 2  # intervals; the session of a broker is a few of them


class Heartbeats:
    """``late_count``: those that were answered much later than they were due."""

    def __init__(self, interval_ms: int) -> None:
        self.late_count = 0
        self._late_after_ms = _LATE_AFTER * interval_ms
        self._answered_ms: int | None = None

    def note_answer(self, now_ms: int) -> None:
        """A controller has answered, whatever it said."""
        last, self._answered_ms = self._answered_ms, now_ms
        if last is not None and now_ms - last > self._late_after_ms:
            self.late_count += 1

    def age_ms(self, now_ms: int) -> int | None:
        """How long ago that was; None: there was none yet."""
        return None if self._answered_ms is None else now_ms - self._answered_ms

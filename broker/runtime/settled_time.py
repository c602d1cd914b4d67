"""The wall clock for decisions that cannot be taken back, such as deleting old records.

A clock that leaps forward may be wrong, and what was deleted by it does not return.
So a leap is believed only when it has lasted for an hour; until then time goes on from
where it was. A leap backwards is believed at once: it makes everything younger.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .clock import Clock

# A clock that is slewed drifts by less than this from one look to the next.
LEAP_MS = 60_000
DOUBT_MS = 3_600_000

_logger = logging.getLogger(__name__)


class SettledTime:
    """The wall clock, without leaps. To be looked at every few minutes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset_ms = clock.now_ms() - clock.monotonic_ms()
        self._doubted_offset_ms = self._offset_ms
        self._doubted_since_ms = 0

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        monotonic_ms = self._clock.monotonic_ms()
        offset_ms = self._clock.now_ms() - monotonic_ms
        if offset_ms - self._offset_ms <= LEAP_MS:
            self._offset_ms = self._doubted_offset_ms = offset_ms
        elif abs(offset_ms - self._doubted_offset_ms) > LEAP_MS:
            _logger.warning(
                "the clock leapt by %d s: nothing expires by it for an hour",
                (offset_ms - self._doubted_offset_ms) // 1000,
            )
            self._doubted_offset_ms = offset_ms
            self._doubted_since_ms = monotonic_ms
        elif monotonic_ms - self._doubted_since_ms >= DOUBT_MS:
            self._offset_ms = self._doubted_offset_ms = offset_ms
        return monotonic_ms + self._offset_ms

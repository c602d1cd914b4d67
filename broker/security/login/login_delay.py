"""How long a failed login waits for its answer: longer each time, for its address.

The first one waits as long as ``connection.failed.authentication.delay.ms``, each after
it twice as long as the one before, up to `DELAY_MS_MAX`. An address of which nothing
failed for `FORGOTTEN_AFTER_MS` begins anew. Logins that are good never wait.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.broker.runtime.clock import Clock

DELAY_MS_MAX = 5_000
FORGOTTEN_AFTER_MS = 60_000
ADDRESSES_MAX = 10_000


class LoginDelay:
    """Remembers the addresses from which logins failed, so many and no more."""

    def __init__(self, clock: Clock, delay_ms: int) -> None:
        self._clock = clock
        self._delay_ms = delay_ms
        # (next delay, when it was noted), the address that failed last at the end
        self._failures: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def after_failure(self, address: str) -> int:
        """How many milliseconds the answer to a failed login waits."""
        now_ms = self._clock.monotonic_ms()
        delay_ms, since_ms = self._failures.pop(address, (self._delay_ms, now_ms))
        if now_ms - since_ms >= FORGOTTEN_AFTER_MS:
            delay_ms = self._delay_ms
        following_ms = max(self._delay_ms, min(2 * delay_ms, DELAY_MS_MAX))
        self._failures[address] = following_ms, now_ms
        if len(self._failures) > ADDRESSES_MAX:
            self._failures.popitem(last=False)
        return delay_ms

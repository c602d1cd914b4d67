"""The keys of one listener, and how they stay fresh.

They are fetched at the start, again after some time, and when a token names a key that
is not there: at once, but not more often than every `UNKNOWN_KEY_MS`, whatever
strangers make up. While they cannot be fetched the old ones stay good.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, NamedTuple

from .fetching import NotFetched
from .jwks import BadKeys, KeySet, read_keys

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from odradek.broker.runtime.clock import Clock, TimerHandle

    from .jwks import PublicKey

    Run = Callable[
        [Callable[[], Any], Callable[[Any, "Exception | None"], object]], None
    ]

UNKNOWN_KEY_MS = 10_000

_logger = logging.getLogger(__name__)


class FetchTimes(NamedTuple):
    """How often keys are fetched, and how soon again after that has failed."""

    refresh_ms: int
    retry_ms: int
    retry_ms_max: int


class KeySource:
    """Where keys come from: ``fetch`` blocks, and ``run`` has it done in a thread."""

    def __init__(
        self, fetch: Callable[[], bytes], times: FetchTimes, clock: Clock, run: Run
    ) -> None:
        self._fetch = fetch
        self._times = times
        self._clock = clock
        self._run = run
        self._keys = KeySet()
        self._retry_ms = times.retry_ms
        self._asked_ms: int | None = None  # when a token last had them fetched
        self._is_fetching = False
        self._is_closed = False
        self._waiting: list[asyncio.Future[None]] = []
        self._timer: TimerHandle | None = None

    def load(self) -> None:
        """Fetch the keys now, and again in time. Blocks: for a file, at the start.

        Raises:
            NotFetched, BadKeys: there are none.
        """
        self._keys = read_keys(self._fetch())
        self._call_later(self._times.refresh_ms)

    def fetch(self) -> None:
        """Fetch the keys, unless that is being done already."""
        if self._is_fetching or self._is_closed:
            return
        self._is_fetching = True
        if self._timer is not None:
            self._timer.cancel()
        self._run(lambda: read_keys(self._fetch()), self._fetched)

    def close(self) -> None:
        """Fetch nothing any more."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._wake()

    def key_for(self, key_id: str, algorithm: str) -> PublicKey | None:
        """The key that a token names, as far as keys are known."""
        return self._keys.key_for(key_id, algorithm)

    async def look_again(self) -> None:
        """Return when the keys have been fetched once more, or it is too soon."""
        now_ms = self._clock.monotonic_ms()
        if not self._is_fetching:
            asked_ms = self._asked_ms
            if asked_ms is not None and now_ms - asked_ms < UNKNOWN_KEY_MS:
                return
            self._asked_ms = now_ms
            self.fetch()
        if self._is_fetching:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting

    def _fetched(self, keys: KeySet | None, error: Exception | None) -> None:
        self._is_fetching = False
        if keys is not None:
            self._keys = keys
            self._retry_ms = self._times.retry_ms
            self._call_later(self._times.refresh_ms)
        else:
            known = "the old ones stay good" if len(self._keys) else "there are none"
            if isinstance(error, BadKeys | NotFetched):
                _logger.warning("keys of tokens not fetched, %s: %s", known, error)
            else:
                _logger.error("keys of tokens not fetched, %s", known, exc_info=error)
            self._call_later(self._retry_ms)
            self._retry_ms = min(2 * self._retry_ms, self._times.retry_ms_max)
        self._wake()

    def _call_later(self, delay_ms: int) -> None:
        if not self._is_closed:
            self._timer = self._clock.call_later(delay_ms, self.fetch)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if not each.done():
                each.set_result(None)

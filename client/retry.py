"""Trying again, while what fails may pass and there is time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")

BACKOFF_S = 0.05
BACKOFF_S_MAX = 1.0


class Retry:
    """Tries for ``timeout_s``, with pauses that double from try to try."""

    def __init__(
        self,
        timeout_s: float,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.timeout_s = timeout_s
        self._monotonic = monotonic
        self._sleep = sleep

    def run(
        self,
        attempt: Callable[[], Result],
        may_pass: Callable[[Exception], bool],
        timeout_s: float | None = None,
    ) -> Result:
        """What ``attempt`` returns, in the end; its last error when time is over.

        An error that is not one which ``may_pass`` is raised at once.
        """
        limit_s = self.timeout_s if timeout_s is None else timeout_s
        deadline = self._monotonic() + limit_s
        backoff_s = BACKOFF_S
        while True:
            try:
                return attempt()
            except Exception as error:
                if not may_pass(error) or self._monotonic() + backoff_s > deadline:
                    raise
            self._sleep(backoff_s)
            backoff_s = min(backoff_s * 2, BACKOFF_S_MAX)

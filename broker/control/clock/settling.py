"""When all is quiet: what was begun by a timer is done, as far as it can be now."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from odradek.broker.operate.admin_socket import AdminError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.requests.services import Services

# What one callback brings about takes a few turns of the loop: a decision, its record,
# who waits for that, the next decision.
_TURNS = 10
_LAST_TURNS = 50
# A thread is mostly done before the loop has turned so often; then we rest in between.
_EAGER_TURNS = 200
_REST_S = 0.001
_TIMEOUT_S = 60.0


class Settling:
    """Waits, in real time, until nothing is under way in a broker."""

    def __init__(self, services: Services, timeout_s: float = _TIMEOUT_S) -> None:
        self._services = services
        self._timeout_s = timeout_s

    async def settle(self) -> None:
        """Return when jobs, threads and syncs have ended, and what followed them.

        Raises:
            AdminError: they do not end.
        """
        await _turn(_TURNS)
        while any(self._busy()):
            await self._wait()
            await _turn(_TURNS)

    async def settle_all(self) -> None:
        """The same, with the last of what followed.

        Raises:
            AdminError: it does not end.
        """
        await self.settle()
        await _turn(_LAST_TURNS)
        await self.settle()

    async def _wait(self) -> None:
        deadline_s = time.monotonic() + self._timeout_s
        turns = 0
        while busy := next(self._busy(), None):
            turns += 1
            await asyncio.sleep(0 if turns < _EAGER_TURNS else _REST_S)
            if time.monotonic() > deadline_s:
                text = f"{busy} has not ended after {self._timeout_s:g} s"
                raise AdminError("busy", text)

    def _busy(self) -> Iterator[str]:
        services = self._services
        for name in services.scheduler.running:
            yield f"the job {name!r}"
        if not services.disk_threads.is_idle:
            yield "what a disk thread does"
        for committer in services.committer.directories:
            if not committer.is_idle:
                yield f"a sync of {committer.directory}"


async def _turn(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)

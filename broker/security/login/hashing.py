"""Passwords are hashed, for milliseconds each, in disk threads: a few at a time.

Others wait for their turn, and past a number of them logins are put off: strangers
must not keep the threads from the logs, which they are there for.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from odradek.protocol.scram import salted

from .mechanism import LoginBusy

if TYPE_CHECKING:
    from odradek.broker.runtime.disk_threads import DiskThreads

AT_A_TIME = 2
WAITING_MAX = 100


class PasswordHashing:
    """Hashes passwords in ``threads``."""

    def __init__(self, threads: DiskThreads) -> None:
        self._threads = threads
        self._turns = asyncio.Semaphore(AT_A_TIME)
        self._waiting_count = 0

    async def salted(
        self, password: str, salt: bytes, iterations: int, algorithm: str
    ) -> bytes:
        """What `protocol.scram` calls salted.

        Raises:
            LoginBusy: too many wait already.
        """
        if self._waiting_count >= WAITING_MAX:
            raise LoginBusy("too many passwords are being checked")
        self._waiting_count += 1
        try:
            async with self._turns:
                return await self._threads.run(
                    salted, password.encode(), salt, iterations, algorithm
                )
        finally:
            self._waiting_count -= 1

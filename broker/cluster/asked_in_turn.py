"""One question at a time to the controllers, as long as there is something to ask."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from odradek.protocol.errors import KafkaError, MalformedRequest

if TYPE_CHECKING:
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.clock import Clock


class Asker(Protocol):
    """Who has something to ask."""

    async def ask(self) -> int | None:
        """Ask once. After how many milliseconds to ask again; None: that was all.

        Raises:
            OSError, KafkaError, MalformedRequest: there is no answer.
        """

    def lost(self) -> int:
        """There was no answer: after how many milliseconds to ask again."""


class AskedInTurn:
    """Has ``asker`` ask when it is wanted. ``what`` is named where it breaks."""

    def __init__(self, asker: Asker, what: str, clock: Clock, bugs: Bugs) -> None:
        self._asker = asker
        self._what = what
        self._clock = clock
        self._bugs = bugs
        self._is_wanted = asyncio.Event()

    def want(self) -> None:
        """There is something to ask."""
        self._is_wanted.set()

    async def run(self) -> None:
        """Ask for ever; nothing that breaks ends it."""
        while True:
            await self._is_wanted.wait()
            self._is_wanted.clear()
            wait_ms = await self._ask()
            if wait_ms is not None:
                self._is_wanted.set()
            if wait_ms:
                await self._clock.sleep(wait_ms)

    async def _ask(self) -> int | None:
        try:
            return await self._asker.ask()
        except (OSError, KafkaError, MalformedRequest):
            return self._asker.lost()
        except Exception as error:  # else nobody would ask ever again
            self._bugs.record(self._what, error)
            return self._asker.lost()

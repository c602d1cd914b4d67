"""Who waits for one sync of a log directory: those who flush, and appends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from odradek.storage.files.files import StorageFailure


class Awaited(Protocol):
    """Appends that wait for the sync, of whatever partitions."""

    def add(self, partition: Any, append: Any) -> None:
        """``append`` to ``partition`` waits, too."""

    def release(self) -> None:
        """It is over and the partitions know of it, or there will be none."""

    def hand_over(self, partition: Any) -> None:
        """Something else is to be said of ``partition``: do not wait for the sync."""


class SyncWaiters:
    """Those who wait for one sync. ``awaited`` is set by who appends."""

    __slots__ = ("_futures", "awaited", "have_flushes")

    def __init__(self) -> None:
        self.awaited: Awaited | None = None
        self.have_flushes = False  # somebody waits for all that is dirty
        self._futures: list[asyncio.Future[None]] = []

    def __bool__(self) -> bool:
        """Whether there is anybody."""
        return bool(self._futures) or self.awaited is not None

    def add_flush(self) -> asyncio.Future[None]:
        """One more who waits for all that is dirty."""
        self.have_flushes = True
        return self.add_turn()

    def add_turn(self) -> asyncio.Future[None]:
        """One more who waits for this sync, whatever it is of."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._futures.append(waiter)
        return waiter

    def hand_over(self, partition: object) -> None:
        """Who waits for ``partition`` does not wait for the sync any more."""
        if self.awaited is not None:
            self.awaited.hand_over(partition)

    def release(self, error: StorageFailure | None) -> None:
        """The sync is over; with ``error``, there will be none any more."""
        if self.awaited is not None:
            self.awaited.release()
        for waiter in self._futures:
            if waiter.done():
                continue
            if error is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(error)

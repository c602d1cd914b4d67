"""Tells who waits that something may have changed, so that nobody has to ask again.

What goes through a log is announced already: to the fetches that wait for its
partition, also when a coordinator writes. A `Watch` is one of these, and is never
complete. What is rare and in no log (topics, members, clients) all watches are told.

A watch looks in the next turn of the loop, once: by then all that the change has
brought about is there, such as what a coordinator makes of the record it wrote.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from odradek.broker.replica.waiting.purgatory import OPERATION, DelayedOperation
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from odradek.broker.network.listener import Listener
    from odradek.broker.replica.waiting.purgatory import Purgatory
    from odradek.broker.requests.services import Services

# Who waits has a timeout of his own.
_NO_TIMEOUT_MS = (1 << 31) - 1


class Watch:
    """One who wants to be told; ``look`` is called in a turn of its own."""

    def __init__(
        self, fetches: Purgatory[TopicPartition], look: Callable[[], object]
    ) -> None:
        self._fetches = fetches
        self._look = look
        self._places: tuple[TopicPartition, ...] = ()
        self._told: _Told | None = None
        self._soon: asyncio.Handle | None = None

    def tell(self) -> None:
        """Something may have changed."""
        if self._soon is None:
            self._soon = asyncio.get_running_loop().call_soon(self._look_now)

    @property
    def is_among_fetches(self) -> bool:
        """Whether it follows partitions."""
        return self._told is not None and not self._told.is_completed

    def follow(self, places: Iterable[TopicPartition]) -> None:
        """Be told of these partitions, and of no others."""
        wanted = tuple(places)
        told = self._told
        if wanted == self._places and (told is None or not told.is_completed):
            return
        self._forget()
        self._places = wanted
        if wanted:
            self._told = _Told(self.tell)
            self._fetches.watch(self._told, wanted, _NO_TIMEOUT_MS)

    def end(self) -> None:
        """Be told of nothing any more."""
        self._forget()
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None

    def _forget(self) -> None:
        told, self._told = self._told, None
        if told is not None:
            told.end()

    def _look_now(self) -> None:
        self._soon = None
        self._look()


class Changes:
    """The watches of one broker."""

    def __init__(self, services: Services, listeners: Sequence[Listener]) -> None:
        self._services = services
        self._watches: list[Watch] = []
        services.metadata.watch_index(self.tell)
        services.groups.watchers.append(lambda _: self.tell())
        for listener in listeners:
            listener.watchers.append(lambda _: self.tell())

    def watch(self, look: Callable[[], object]) -> Watch:
        """Call ``look`` when something may have changed, until `end` of that watch."""
        watch = Watch(self._services.replica_manager.fetches, look)
        self._watches.append(watch)
        return watch

    def end(self, watch: Watch) -> None:
        """He waits no longer."""
        self._watches.remove(watch)
        watch.end()

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._watches)

    @property
    def told_count(self) -> int:
        """How many of them wait among the fetches."""
        return sum(watch.is_among_fetches for watch in self._watches)

    def tell(self) -> None:
        """Something may have changed that is in no log. Mostly nobody waits."""
        for watch in self._watches:
            watch.tell()


class _Told(DelayedOperation[TopicPartition]):
    """Among the fetches that wait; it has nothing to complete."""

    __slots__ = (*OPERATION, "_tell")

    def __init__(self, tell: Callable[[], object]) -> None:
        super().__init__()
        self._tell: Callable[[], object] | None = tell

    def try_complete(self) -> bool:
        """Somebody else looks, later."""
        if self._tell is not None:
            self._tell()
        return False

    def on_complete(self) -> None:
        """The broker stops, or its clock was moved far ahead: that is a change, too."""
        if self._tell is not None:
            self._tell()

    def end(self) -> None:
        """Nobody is to be told."""
        self._tell = None
        self.force_complete()

"""Fetches from one broker of the source, for the partitions that it leads.

A request is for all of them, and the next one leaves when the answer to it is written.
The thread that blocks is this fetcher's own; what it brings is applied on the loop.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.protocol.errors import KafkaError

from .partition_copy import RETRY_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.messages.fetch import PartitionData
    from odradek.protocol.topic_partition import TopicPartition

    from .partition_copy import PartitionCopy
    from .source import Source, Wanted

IDLE_MS = 200


class LeaderFetcher:
    """What is copied from one broker. ``trouble`` is why it cannot be asked."""

    def __init__(
        self,
        node_id: int,
        source: Source,
        clock: Clock,
        look_again: Callable[[], object],
    ) -> None:
        """``look_again`` is called when somebody else may lead by now."""
        self.node_id = node_id
        self.copies: dict[TopicPartition, PartitionCopy] = {}
        self.trouble: str | None = None
        self._source = source
        self._clock = clock
        self._look_again = look_again
        self._threads = DiskThreads(1, f"mirror-{node_id}")
        self._turn = 0

    async def run(self) -> None:
        """Copy until it is cancelled."""
        try:
            while True:
                due = self._due()
                if not due:
                    await self._clock.sleep(IDLE_MS)
                elif not await self._fetch(due):
                    self._look_again()
                    await self._clock.sleep(RETRY_MS)
        finally:
            # Not waited for: it may be waiting for a broker that does not answer.
            self._threads.submit(self._source.close, lambda *_: None)
            self._threads.close(waits=False)

    def _due(self) -> list[PartitionCopy]:
        """Those to ask for, each time beginning with another: answers are limited."""
        due = [copy for copy in self.copies.values() if copy.is_due]
        self._turn += 1
        first = self._turn % len(due) if due else 0
        return due[first:] + due[:first]

    async def _fetch(self, due: list[PartitionCopy]) -> bool:
        asked = {copy: copy.wanted() for copy in due}
        try:
            found = await self._threads.run(self._ask, list(asked.values()))
        except (KafkaError, OSError, ValueError) as error:
            self.trouble = str(error) or repr(error)
            return False
        self.trouble = None
        has_moved = False
        for copy, wanted in asked.items():
            answer = found.pop((wanted.topic_id, wanted.partition), None)
            if answer is not None:
                await copy.take(wanted, answer)
                has_moved = has_moved or copy.has_moved
                await asyncio.sleep(0)  # others get a turn between megabytes
        if has_moved:
            self._look_again()
        return True

    def _ask(self, wanted: list[Wanted]) -> dict[tuple[bytes, int], PartitionData]:
        """In the thread; a connection in doubt is not used again."""
        try:
            if not self._source.is_connected:
                self._source.find_brokers()
            return self._source.fetch(self.node_id, wanted)
        except BaseException:
            self._source.close()
            raise

"""Producer ids: never the same one twice, not after a kill either.

They come in blocks from the catalogue, which has committed a block before the
first id of it is given.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .topics import Topics


# Clusters count from 0. One that has another's records counts from a multiple of this,
# which it draws: what is drawn is below what tools that know doubles can tell apart.
RANGE_BITS = 40
RANGES = 1 << 12


class OwnIds(NamedTuple):
    """The ids that this cluster gives: those below ``before``, or from ``begin`` on."""

    before: int
    begin: int

    def __contains__(self, producer_id: object) -> bool:
        if not isinstance(producer_id, int):
            return False
        is_of_range = producer_id >> RANGE_BITS == self.begin >> RANGE_BITS
        return producer_id < self.before or is_of_range


class ProducerIds:
    """Producer ids, one after the other, out of blocks of the catalogue."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._block = range(0)
        self._filling: asyncio.Task[None] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the block is used up: the next id waits for the catalogue."""
        return not self._block

    def next_or_none(self) -> int | None:
        """The next id of the block; None when the block is used up."""
        if not self._block:
            return None
        producer_id, self._block = self._block[0], self._block[1:]
        return producer_id

    async def next(self) -> int:
        """The next id, of a new block if need be.

        Raises:
            KafkaStorageError: the catalogue cannot be written.
        """
        while (producer_id := self.next_or_none()) is None:
            await self.fill()
        return producer_id

    async def begin_range(self) -> OwnIds:
        """Give ids that no other cluster gives, from now on: for who has records of
        another one. Returns which of our own there are.

        Raises:
            KafkaStorageError: the catalogue cannot be written.
        """
        drawn = int.from_bytes(os.urandom(4), "big") % (RANGES - 1)
        first = (drawn + 1) << RANGE_BITS
        own = OwnIds(*await self._topics.begin_producer_ids(first))
        if self._block and self._block[0] < own.begin:
            self._block = range(0)
        return own

    async def fill(self) -> None:
        """Return when there is an id at hand.

        Raises:
            KafkaStorageError: the catalogue cannot be written.
        """
        while not self._block:
            if self._filling is None:
                self._filling = asyncio.get_running_loop().create_task(
                    self._fill(), name="a block of producer ids"
                )
            # Shielded: others wait for the same block.
            await asyncio.shield(self._filling)

    async def _fill(self) -> None:
        try:
            self._block = await self._topics.allocate_producer_id_block()
        finally:
            self._filling = None

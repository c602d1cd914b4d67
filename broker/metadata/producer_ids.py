"""Producer ids: never the same one twice, not after a kill either.

They come in blocks from the catalogue, which has committed a block before the
first id of it is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .topics import Topics


class ProducerIds:
    """Producer ids, one after the other, out of blocks of the catalogue."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._block = range(0)

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

    async def fill(self) -> None:
        """Return when there is an id at hand.

        Raises:
            KafkaStorageError: the catalogue cannot be written.
        """
        while not self._block:
            # Two that wait here take a block each; what one leaves is not used.
            self._block = await self._topics.allocate_producer_id_block()

"""Producer ids: never the same one twice, not after a kill either.

They come in blocks from the catalogue, which has committed a block before the
first id of it is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .metadata.topics import Topics


class ProducerIds:
    """Producer ids, one after the other, out of blocks of the catalogue."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._block: Iterator[int] = iter(())

    def next_or_none(self) -> int | None:
        """The next id of the block; None when the block is used up."""
        return next(self._block, None)

    async def next(self) -> int:
        """The next id, of a new block if need be.

        Raises:
            KafkaStorageError: the catalogue cannot be written.
        """
        while (producer_id := self.next_or_none()) is None:
            # Two that wait here take a block each; what one leaves is not used.
            self._block = iter(await self._topics.allocate_producer_id_block())
        return producer_id

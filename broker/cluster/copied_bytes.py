"""How many bytes brokers of a cluster have copied from each other, since the start."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.broker.quorum.image.image import HasImage
    from odradek.protocol.topic_partition import TopicPartition


class CopiedBytes:
    """Those that were sent to followers, or those that were taken of leaders.

    ``of_moves`` are the part of them for replicas that were just being added.
    """

    __slots__ = ("_source", "count", "of_moves")

    def __init__(self, source: HasImage | None) -> None:
        """``source`` says which replicas are being added; None: none ever are."""
        self.count = self.of_moves = 0
        self._source = source

    def record(self, place: TopicPartition, broker_id: int, size: int) -> None:
        """That broker gets so many bytes of a partition."""
        self.count += size
        if self._source is not None:
            found = self._source.image.partition_of(*place)
            if found is not None and broker_id in found.adding_replicas:
                self.of_moves += size

"""A stretch of one partition: the unit in which topics are read."""

from __future__ import annotations

from typing import NamedTuple

from odradek.protocol.topic_partition import TopicPartition


class OffsetRange(NamedTuple):
    """The offsets from ``start`` up to, and without, ``end``.

    Fewer records than that may be in it: offsets have gaps.
    """

    topic: str
    partition: int
    start: int
    end: int

    @property
    def place(self) -> TopicPartition:
        """The partition it is a part of."""
        return TopicPartition(self.topic, self.partition)

    @property
    def count(self) -> int:  # type: ignore[override]  # nobody looks for equal fields
        """How many offsets it spans."""
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} [{self.start}, {self.end})"

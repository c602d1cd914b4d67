"""The name of a partition: its topic and its number."""

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """A partition of a topic, printed and stored as ``topic-3``."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

"""What requests that come again and again say, known by their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from odradek.broker.metadata.topics import Topics

T = TypeVar("T")

KEPT_MAX = 4096


class KnownRequests(Generic[T]):
    """At most so many; ``by_bytes`` has None for what is not the usual."""

    __slots__ = ("_missed_count", "by_bytes")

    def __init__(self) -> None:
        self.by_bytes: dict[bytes, T | None] = {}
        self._missed_count = 0

    def has_room(self) -> bool:
        """Whether to learn one more: not each of them where there are too many.

        Learning costs more than the long way. Now and then all begin anew.
        """
        if len(self.by_bytes) >= KEPT_MAX:
            self._missed_count += 1
            if self._missed_count < KEPT_MAX:
                return False
            self._missed_count = 0
            self.by_bytes.clear()
        return True


def is_current(metadata: Topics, topic_id: bytes, name: str) -> bool:
    """Whether the topic's id still stands for its name."""
    topic = metadata.by_id(topic_id)
    return topic is not None and topic.name == name

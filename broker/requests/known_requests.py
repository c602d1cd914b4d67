"""What requests that come again and again say, known by their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from odradek.broker.metadata.topics import Topics
    from odradek.protocol.primitives import Buffer
    from odradek.protocol.topic_partition import TopicPartition

KEPT_MAX = 4096
_LENGTH_SIZE = _ID_SIZE = 4  # of a frame, and of the correlation id behind its length
# After so many new ones it is seen which of them nobody will send again.
_LEARNT_BETWEEN = 256


class OfOneTopic(Protocol):
    """What a request says of one partition; ``topic_id`` is zero where it has none."""

    @property
    def key(self) -> TopicPartition:
        """The partition, by its topic's name."""
        ...

    @property
    def topic_id(self) -> bytes:
        """16 bytes."""
        ...


T = TypeVar("T")


class KnownRequests(Generic[T]):
    """At most so many; ``by_bytes`` has None for what is not the usual."""

    __slots__ = ("_is_gone", "_missed_count", "_next_look", "by_bytes")

    def __init__(self, is_gone: Callable[[T], bool]) -> None:
        """``is_gone``: whether nobody will send such a one again."""
        self.by_bytes: dict[bytes, T | None] = {}
        self._is_gone = is_gone
        self._missed_count = 0
        self._next_look = _LEARNT_BETWEEN

    def has_room(self) -> bool:
        """Whether to learn one more: not each of them where there are too many.

        Learning costs more than the long way. Now and then all begin anew.
        """
        if len(self.by_bytes) >= self._next_look:
            self._forget_the_gone()
        if len(self.by_bytes) >= KEPT_MAX:
            self._missed_count += 1
            if self._missed_count < KEPT_MAX:
                return False
            self._missed_count = 0
            self.by_bytes.clear()
        return True

    def _forget_the_gone(self) -> None:
        """They would stay for ever, and keep others out."""
        known = self.by_bytes
        for data in [
            data for data, each in known.items() if each and self._is_gone(each)
        ]:
            del known[data]
        self._next_look = len(known) + _LEARNT_BETWEEN


class KnownAnswer:
    """What a known request is answered, but for whose request it is."""

    __slots__ = ("_length", "_tags", "body")

    def __init__(self, encoded: Sequence[Buffer]) -> None:
        """``encoded`` is the frame of an answer; others may be of the same size."""
        head, *body = encoded
        self._length = bytes(head[:_LENGTH_SIZE])
        self._tags = bytes(head[_LENGTH_SIZE + _ID_SIZE :])
        self.body = b"".join(body)

    def frame(self, correlation_id: bytes, body: bytes) -> bytes:
        """The whole answer; ``body`` has the size of the known one."""
        return b"".join((self._length, correlation_id, self._tags, body))


def is_current(metadata: Topics, topic_id: bytes, name: str) -> bool:
    """Whether the topic's id still stands for its name."""
    topic = metadata.by_id(topic_id)
    return topic is not None and topic.name == name


def topic_is_gone(metadata: Topics, is_by_id: bool) -> Callable[[OfOneTopic], bool]:
    """Nobody asks for a topic again that was deleted."""

    def is_gone(known: OfOneTopic) -> bool:
        name = known.key[0]
        if is_by_id:
            return not is_current(metadata, known.topic_id, name)
        return metadata.get(name) is None

    return is_gone

"""Which topics the members of a classic consumer group read."""

from __future__ import annotations

from struct import Struct, error
from typing import TYPE_CHECKING

from protocol.consumer_protocol import PROTOCOL_TYPE

if TYPE_CHECKING:
    from .classic_group import ClassicGroup

_INT16 = Struct(">h")
_HEAD = Struct(">hi")  # version, and how many topics follow; later fields are behind


def is_of_consumers(group: ClassicGroup) -> bool:
    """Whether its members are consumers, and say what they read."""
    return group.protocol_type == PROTOCOL_TYPE


def subscribed_topics(group: ClassicGroup) -> frozenset[str] | None:
    """The topics that any member reads; None where that is not known.

    It is of a group of consumers, with subscriptions that can be read.
    """
    if not is_of_consumers(group):
        return None
    topics: set[str] = set()
    for member in group.members.values():
        metadata = member.metadata_for(group.protocol_name or "")
        if not metadata and member.protocols:
            metadata = member.protocols[0][1]
        try:
            topics.update(_topics(metadata))
        except (error, UnicodeDecodeError):
            return None
    return frozenset(topics)


def _topics(subscription: bytes) -> list[str]:
    _, count = _HEAD.unpack_from(subscription)
    position = _HEAD.size
    topics = []
    for _ in range(count):
        (size,) = _INT16.unpack_from(subscription, position)
        position += _INT16.size
        name = subscription[position : position + size]
        if size < 0 or len(name) < size:
            raise error("a topic is cut short")
        topics.append(name.decode())
        position += size
    return topics

"""Which topics the members of a classic consumer group read."""

from __future__ import annotations

from struct import Struct, error
from typing import TYPE_CHECKING

from protocol.compiler import decoder
from protocol.consumer_protocol import PROTOCOL_TYPE, ConsumerProtocolSubscription
from protocol.errors import MalformedRequest

if TYPE_CHECKING:
    from .classic_group import ClassicGroup

_INT16 = Struct(">h")


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
        except (error, MalformedRequest):
            return None
    return frozenset(topics)


def _topics(subscription: bytes) -> list[str]:
    """The topics of one member; what a later version appends is passed over."""
    (version,) = _INT16.unpack_from(subscription)
    known = min(version, ConsumerProtocolSubscription.max_version)
    if known < 0:
        raise MalformedRequest(f"a subscription of version {version}")
    decode = decoder(ConsumerProtocolSubscription, known)
    return decode(memoryview(subscription), _INT16.size)[0].topics

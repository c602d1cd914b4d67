"""Which topics the members of a group read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.consumer_protocol import PROTOCOL_TYPE, decode_subscription
from odradek.protocol.errors import MalformedRequest

from .classic_group import ClassicGroup

if TYPE_CHECKING:
    from .shard import Group


def is_of_consumers(group: ClassicGroup) -> bool:
    """Whether its members are consumers, and say what they read."""
    return group.protocol_type == PROTOCOL_TYPE


def topics_read(group: Group) -> frozenset[str] | None:
    """The topics that any member reads; None where that is not known."""
    if isinstance(group, ClassicGroup):
        return subscribed_topics(group)
    return group.subscribed_topics()


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
            topics.update(decode_subscription(metadata).topics)
        except MalformedRequest:
            return None
    return frozenset(topics)

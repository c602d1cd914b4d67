"""A member of a share group: what it said of itself, and which partitions it shares.

Both are values, which the member's records replace: nothing else changes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.coordinator.group.state.consumer.member import (
    JOINING_EPOCH,
    NOTHING,
)

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.consumer.member import Partitions


class ShareMemberInfo(NamedTuple):
    """A member, as it described itself. Names of topics are sorted, each once."""

    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: tuple[str, ...] = ()


class ShareHolding(NamedTuple):
    """What a member may read, since which epoch."""

    epoch: int = JOINING_EPOCH
    previous_epoch: int = JOINING_EPOCH
    assigned: Partitions = NOTHING


@dataclass(slots=True)
class ShareMember:
    """One member. Only the replay of records changes it."""

    member_id: str
    info: ShareMemberInfo = field(default_factory=ShareMemberInfo)
    holding: ShareHolding = field(default_factory=ShareHolding)

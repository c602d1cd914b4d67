"""A member of a consumer group: what it said of itself, and which partitions it has.

Both are values, which the member's records replace: nothing else changes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.classic_member import Protocols

Partitions = Mapping[bytes, frozenset[int]]
"""Partitions by the id of their topic."""
Held = Mapping[bytes, Mapping[int, int]]
"""The same, each with the assignment epoch since which a member has it."""

NOTHING: Partitions = {}
NOTHING_HELD: Held = {}
JOINING_EPOCH = 0
LEFT_EPOCH = -1
LEFT_FOR_A_WHILE_EPOCH = -2


class HoldingState(IntEnum):
    """What a member waits for, numbered as in its record."""

    STABLE = 0
    """Nothing: it has all of its target."""
    UNREVOKED = 1
    """It has yet to say that it gave partitions up."""
    UNRELEASED = 2
    """Others have yet to give up what it shall have."""
    UNKNOWN = 127
    """What a later version of Apache Kafka may have written."""


class ClassicPart(NamedTuple):
    """What a member said that has joined by the classic protocol."""

    session_timeout_ms: int
    protocols: Protocols


class MemberInfo(NamedTuple):
    """A member, as it described itself. Names of topics are sorted, each once."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: tuple[str, ...] = ()
    pattern: str = ""
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    classic: ClassicPart | None = None


class Holding(NamedTuple):
    """What a member may read now, and what it was asked to give up."""

    epoch: int = JOINING_EPOCH
    previous_epoch: int = JOINING_EPOCH
    state: int = HoldingState.STABLE
    assigned: Held = NOTHING_HELD
    pending: Held = NOTHING_HELD


@dataclass(slots=True)
class ConsumerMember:
    """One member. Only the replay of records changes it."""

    member_id: str
    info: MemberInfo = field(default_factory=MemberInfo)
    holding: Holding = field(default_factory=Holding)

    @property
    def label(self) -> str:
        """What people are told that it is."""
        instance_id = self.info.instance_id
        if instance_id is None:
            return self.member_id
        return f"static member {instance_id} ({self.member_id})"

    @property
    def is_classic(self) -> bool:
        """Whether it speaks the classic protocol, in a group that has both."""
        return self.info.classic is not None

    def has_settled(self, epoch: int) -> bool:
        """Whether it has all that it shall have in this epoch, and nothing else."""
        holding = self.holding
        return holding.state == HoldingState.STABLE and holding.epoch == epoch


def partitions_of(held: Held) -> Partitions:
    """What is held, without its epochs."""
    return {topic_id: frozenset(of) for topic_id, of in held.items()}

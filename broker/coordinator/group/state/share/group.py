"""A share group (KIP-932): what its records add up to.

Invariants: whatever is written is changed by replay alone (`replay` is the module that
does it), so that a restart arrives at the same; a member is assigned partitions alone
that have a state (`states`). What is "not written" only saves work: it begins anew.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.state.consumer.group import NO_TIME
from odradek.broker.coordinator.group.state.consumer.member import NOTHING

from .member import ShareMember
from .states import NO_STATES

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.consumer.member import Partitions

    from .member import ShareHolding, ShareMemberInfo
    from .states import States

PROTOCOL_TYPE = "share"


class ShareState(Enum):
    """What a group is doing; the values are the names that clients are told."""

    EMPTY = "Empty"
    """It has no members; perhaps it has a place in topics."""
    STABLE = "Stable"
    """It has members. None of them ever waits for another one."""
    DEAD = "Dead"
    """It is gone."""


class ShareGroup:
    """One group."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = 0
        self.metadata_hash = 0
        self.assignment_epoch = 0
        self.assignment_time_ms = NO_TIME
        self.members: dict[str, ShareMember] = {}
        self.targets: dict[str, Partitions] = {}
        self.states: States = NO_STATES
        self.is_gone = False
        self._name_counts: Counter[str] = Counter()
        # Not written: when its topics were last looked at, and when all that it reads
        # had a state.
        self.seen_topics_version = NO_TIME
        self.whole_at: tuple[States, int] | None = None

    def __repr__(self) -> str:
        return (
            f"ShareGroup({self.group_id!r}, {self.state.value}, epoch {self.epoch}, "
            f"{len(self.members)} members)"
        )

    # Questions

    @property
    def protocol_type(self) -> str:
        """Its members are consumers that share."""
        return PROTOCOL_TYPE

    @property
    def is_empty(self) -> bool:
        """Whether it has no members."""
        return not self.members

    @property
    def state(self) -> ShareState:
        """What it is doing."""
        if self.is_gone:
            return ShareState.DEAD
        return ShareState.STABLE if self.members else ShareState.EMPTY

    @property
    def is_settled(self) -> bool:
        """Whether every member was told what it reads in the present epoch."""
        return self.epoch == self.assignment_epoch and all(
            each.holding.epoch == self.epoch for each in self.members.values()
        )

    def target_of(self, member_id: str) -> Partitions:
        """What a member shall read."""
        return self.targets.get(member_id, NOTHING)

    def subscribed_topics(self) -> frozenset[str]:
        """The names of all topics that any member subscribes to."""
        return frozenset(self._name_counts)

    # What records change

    def put_info(self, member_id: str, info: ShareMemberInfo) -> None:
        """A member describes itself."""
        member = self._member(member_id)
        self._count(member.info.topic_names, -1)
        member.info = info
        self._count(info.topic_names, 1)

    def put_holding(self, member_id: str, holding: ShareHolding) -> None:
        """A member has other partitions."""
        self._member(member_id).holding = holding

    def remove(self, member_id: str) -> None:
        """A member is gone."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count(member.info.topic_names, -1)

    def _member(self, member_id: str) -> ShareMember:
        member = self.members.get(member_id)
        if member is None:
            member = self.members[member_id] = ShareMember(member_id)
        return member

    def _count(self, names: tuple[str, ...], by: int) -> None:
        for name in names:
            self._name_counts[name] += by
            if not self._name_counts[name]:
                del self._name_counts[name]

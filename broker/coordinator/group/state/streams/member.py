"""A member of a streams group: what it said of itself, and which tasks it has.

Both are values, which the member's records replace: nothing else changes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from odradek.broker.coordinator.group.state.consumer.member import JOINING_EPOCH

from .tasks import NOTHING_HELD, HeldTasks

NO_TOPOLOGY_EPOCH = -1


class TaskState(IntEnum):
    """What a member waits for, numbered as in its record."""

    STABLE = 1
    """Nothing: it has all of its target."""
    UNREVOKED = 2
    """It has yet to say that it gave tasks up."""
    UNRELEASED = 3
    """Others have yet to give up what it shall have."""
    UNKNOWN = 127
    """What a later version of Apache Kafka may have written."""


class Endpoint(NamedTuple):
    """Where an instance of the application answers queries."""

    host: str
    port: int


class StreamsMemberInfo(NamedTuple):
    """A member, as it described itself. Tags are sorted by their keys.

    Members of one process run in one instance of the application, and share its disk.
    """

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = NO_TOPOLOGY_EPOCH
    process_id: str = ""
    endpoint: Endpoint | None = None
    client_tags: tuple[tuple[str, str], ...] = ()


class StreamsHolding(NamedTuple):
    """The tasks that a member has now, and those that it was asked to give up."""

    epoch: int = JOINING_EPOCH
    previous_epoch: int = JOINING_EPOCH
    state: int = TaskState.STABLE
    assigned: HeldTasks = NOTHING_HELD
    pending: HeldTasks = NOTHING_HELD


@dataclass(slots=True)
class StreamsMember:
    """One member. Only the replay of records changes it."""

    member_id: str
    info: StreamsMemberInfo = field(default_factory=StreamsMemberInfo)
    holding: StreamsHolding = field(default_factory=StreamsHolding)

    def has_settled(self, epoch: int) -> bool:
        """Whether it has all that it shall have in this epoch, and nothing else."""
        holding = self.holding
        return holding.state == TaskState.STABLE and holding.epoch == epoch

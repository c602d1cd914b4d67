"""A streams group (KIP-1071): what its records add up to.

Invariants: whatever is written is changed by replay alone (`replay` is the module that
does it), so that a restart arrives at the same; a task is active in one process, the
one that has it assigned or has yet to give it up, and in no process twice. The fields
under "not written" only save or order work: after a start they begin anew.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.coordinator.group.state.consumer.group import NO_TIME

from .member import NO_TOPOLOGY_EPOCH, StreamsMember
from .tasks import NO_TASKS, each_task

if TYPE_CHECKING:
    from .configured import ConfiguredTopology
    from .member import StreamsHolding, StreamsMemberInfo
    from .tasks import HeldIds, HeldTasks, Task, TaskIds, Tasks
    from .topology import Topology

PROTOCOL_TYPE = "streams"
FIRST_EPOCH = 1
"""Of a group and of its target before anything is written: who joins is told of it."""
AssignmentConfigs = tuple[tuple[str, str], ...]


class StreamsState(Enum):
    """What a group is doing; the values are the names that clients are told."""

    EMPTY = "Empty"
    """It has no members; perhaps it has offsets."""
    NOT_READY = "NotReady"
    """Topics of its topology are missing, or are not as they have to be."""
    ASSIGNING = "Assigning"
    """Something has changed, and the next heartbeat assigns anew."""
    RECONCILING = "Reconciling"
    """Members give up tasks, or wait for what others give up."""
    STABLE = "Stable"
    """Every member has what it shall have."""
    DEAD = "Dead"
    """It is gone."""


class Configured(NamedTuple):
    """What was found of a topology, with topics that have this hash."""

    topology: Topology
    metadata_hash: int
    found: ConfiguredTopology


class StreamsGroup:
    """One group."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.validated_epoch = NO_TOPOLOGY_EPOCH
        self.configs: AssignmentConfigs = ()
        self.assignment_epoch = FIRST_EPOCH
        self.assignment_time_ms = NO_TIME
        self.topology: Topology | None = None
        self.members: dict[str, StreamsMember] = {}
        self.targets: dict[str, Tasks] = {}
        self.is_gone = False
        self._active: dict[Task, str] = {}
        self._standby: dict[Task, set[str]] = {}
        self._warmup: dict[Task, set[str]] = {}
        # Not written: of when its hash is; what is known of its topology; who wants
        # the application to end; how often members were told of each other's tasks.
        self.seen_topics_version = NO_TIME
        self.configured: Configured | None = None
        self.ends_for: str | None = None
        self.endpoint_epoch = 0

    def __repr__(self) -> str:
        return (
            f"StreamsGroup({self.group_id!r}, {self.state.value}, epoch {self.epoch}, "
            f"{len(self.members)} members)"
        )

    # Questions

    @property
    def protocol_type(self) -> str:
        """Its members are instances of an application of Kafka Streams."""
        return PROTOCOL_TYPE

    @property
    def is_empty(self) -> bool:
        """Whether it has no members."""
        return not self.members

    @property
    def state(self) -> StreamsState:
        """What it is doing."""
        if self.is_gone:
            return StreamsState.DEAD
        if not self.members:
            return StreamsState.EMPTY
        if self.topology is None or self.topology.epoch != self.validated_epoch:
            return StreamsState.NOT_READY
        if self.epoch > self.assignment_epoch:
            return StreamsState.ASSIGNING
        epoch = self.assignment_epoch
        if all(each.has_settled(epoch) for each in self.members.values()):
            return StreamsState.STABLE
        return StreamsState.RECONCILING

    def target_of(self, member_id: str) -> Tasks:
        """The tasks that a member shall have."""
        return self.targets.get(member_id, NO_TASKS)

    def subscribed_topics(self) -> frozenset[str]:
        """The names of the topics that are read, if anybody is there to read them."""
        if self.topology is None or not self.members:
            return frozenset()
        return frozenset(self.topology.subtopology_of)

    def worker(self, task: Task) -> str | None:
        """The process that has a task as active one, or has yet to give it up."""
        return self._active.get(task)

    def follows(self, process_id: str, task: Task) -> bool:
        """Whether the process has the task, or has yet to give it up, as no worker."""
        none: frozenset[str] = frozenset()
        return process_id in self._standby.get(
            task, none
        ) or process_id in self._warmup.get(task, none)

    # What records change

    def put_info(self, member_id: str, info: StreamsMemberInfo) -> None:
        """A member describes itself."""
        member = self._member(member_id)
        self._disown(member)
        member.info = info
        self._own(member)

    def put_holding(self, member_id: str, holding: StreamsHolding) -> None:
        """A member has other tasks."""
        member = self._member(member_id)
        self._disown(member)
        member.holding = holding
        self._own(member)

    def remove(self, member_id: str) -> None:
        """A member is gone."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._disown(member)
        if not self.members:
            self.ends_for = None

    def _member(self, member_id: str) -> StreamsMember:
        member = self.members.get(member_id)
        if member is None:
            member = self.members[member_id] = StreamsMember(member_id)
        return member

    def _own(self, member: StreamsMember) -> None:
        process_id = member.info.process_id
        for held in (member.holding.assigned, member.holding.pending):
            for task in each_task(held.active):
                self._active[task] = process_id
            for ids, owners in self._followed(held):
                for task in each_task(ids):
                    owners.setdefault(task, set()).add(process_id)

    def _disown(self, member: StreamsMember) -> None:
        process_id = member.info.process_id
        for held in (member.holding.assigned, member.holding.pending):
            self._disown_active(held.active, process_id)
            for ids, owners in self._followed(held):
                for task in each_task(ids):
                    of = owners.get(task, set())
                    of.discard(process_id)
                    if not of:
                        owners.pop(task, None)

    def _disown_active(self, held: HeldIds, process_id: str) -> None:
        for task in each_task(held):
            if self._active.get(task) == process_id:
                del self._active[task]

    def _followed(
        self, held: HeldTasks
    ) -> tuple[tuple[TaskIds, dict[Task, set[str]]], ...]:
        return (held.standby, self._standby), (held.warmup, self._warmup)

"""A classic group: its members, its generation, its state. One state table.

Invariants: the leader is a member, or there is none; every instance id belongs to one
member; the state only changes as `TRANSITIONS` says. What the members are is not
replayed while the broker runs, only loaded: see `Decision.is_replayed`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from odradek.protocol.group_records import GroupMember, GroupMetadataValue

from .classic_member import ClassicMember
from .classic_states import TRANSITIONS, ClassicEvent, ClassicState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .classic_member import Protocols

NO_PROTOCOL_TYPE = ""


class ClassicGroup:
    """One group of the classic protocol."""

    def __init__(self, group_id: str, now_ms: int) -> None:
        self.group_id = group_id
        self.state = ClassicState.EMPTY
        self.state_timestamp = now_ms
        self.generation_id = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, ClassicMember] = {}
        self.static_members: dict[str, str] = {}
        self.pending_join_ids: set[str] = set()
        self.pending_sync_ids: set[str] = set()
        self.is_first_rebalance = False
        self.new_member_added = False
        self.is_assignment_written = False
        self._supporters: Counter[str] = Counter()

    def __repr__(self) -> str:
        return (
            f"ClassicGroup({self.group_id!r}, {self.state.value}, generation"
            f" {self.generation_id}, {len(self.members)} members)"
        )

    # State

    def note(self, event: ClassicEvent, now_ms: int) -> None:
        """Enter the state to which ``event`` leads; it must be one that can happen."""
        assert self.can(event), (self.state, event)
        self.state = TRANSITIONS[self.state][event]
        self.state_timestamp = now_ms

    def can(self, event: ClassicEvent) -> bool:
        """Whether it can happen in the present state."""
        return event in TRANSITIONS[self.state]

    def is_in(self, *states: ClassicState) -> bool:
        """Whether it is in one of these states."""
        return self.state in states

    @property
    def is_empty(self) -> bool:
        """Whether it has no members, and nobody is about to be one."""
        return self.state is ClassicState.EMPTY

    @property
    def is_gone(self) -> bool:
        """Whether it was deleted."""
        return self.state is ClassicState.DEAD

    # Members

    def add(self, member: ClassicMember) -> None:
        """Take in a member; the first one leads, and says of what type the group is."""
        assert member.member_id not in self.members, member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self.static_members
            self.static_members[member.group_instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self.pending_join_ids.discard(member.member_id)
        self._count(member, 1)

    def remove(self, member_id: str) -> ClassicMember | None:
        """Let a member go; another one that has joined leads then."""
        self.pending_join_ids.discard(member_id)
        self.pending_sync_ids.discard(member_id)
        member = self.members.pop(member_id, None)
        if member is None:
            return None
        self._count(member, -1)
        if member.group_instance_id is not None:
            self.static_members.pop(member.group_instance_id, None)
        if member_id == self.leader_id:
            self.leader_id = next(iter(self.members), None)
        return member

    def replace_static(self, old_id: str, new_id: str) -> ClassicMember:
        """Give a static member another id, in its place. Returns the member."""
        member = self.members[old_id]
        self.members = {
            new_id if known_id == old_id else known_id: known
            for known_id, known in self.members.items()
        }
        member.member_id = new_id
        assert member.group_instance_id is not None
        self.static_members[member.group_instance_id] = new_id
        if self.leader_id == old_id:
            self.leader_id = new_id
        self.pending_sync_ids.discard(old_id)
        return member

    def update(
        self,
        member: ClassicMember,
        protocols: Protocols,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
    ) -> None:
        """Note what a member says now."""
        self._count(member, -1)
        member.protocols = protocols
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms
        self._count(member, 1)

    def is_leader(self, member_id: str) -> bool:
        """Whether this member makes the assignment."""
        return member_id == self.leader_id

    def maybe_elect_leader(self) -> bool:
        """See that one leads who has joined. Returns whether anybody could."""
        leader = self.members.get(self.leader_id or "")
        if leader is not None and leader.awaiting_join is not None:
            return True
        for member in self.members.values():
            if member.awaiting_join is not None:
                self.leader_id = member.member_id
                return True
        return False

    def awaiting_join(self) -> list[ClassicMember]:
        """The members that wait for the rebalance to end."""
        return [each for each in self.members.values() if each.awaiting_join]

    def not_joined(self) -> list[ClassicMember]:
        """The members that have not come back for the rebalance."""
        return [each for each in self.members.values() if not each.awaiting_join]

    @property
    def has_all_joined(self) -> bool:
        """Whether nobody is missing any more."""
        return not self.pending_join_ids and not self.not_joined()

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long a rebalance waits: the longest time that any member asks for."""
        return max(
            (each.rebalance_timeout_ms for each in self.members.values()), default=0
        )

    # Protocols

    def supports(self, protocol_type: str, protocols: Iterable[str]) -> bool:
        """Whether who speaks these could be a member; anybody of an empty group."""
        if self.state is ClassicState.EMPTY:
            return bool(protocol_type) and any(True for _ in protocols)
        return protocol_type == self.protocol_type and any(
            self._supporters[name] == len(self.members) for name in protocols
        )

    def select_protocol(self) -> str:
        """The assignor with the most votes; each votes for its first common one."""
        count = len(self.members)
        candidates = {
            name for name, number in self._supporters.items() if number == count
        }
        votes = Counter(each.vote(candidates) for each in self.members.values())
        return votes.most_common(1)[0][0]

    def begin_generation(self, now_ms: int) -> None:
        """Enter the next generation, with the protocol that its members vote for."""
        self.generation_id += 1
        if self.members:
            self.protocol_name = self.select_protocol()
            self.note(ClassicEvent.MEMBERS_JOINED, now_ms)
        else:
            self.protocol_name = None
            self.note(ClassicEvent.NOBODY_JOINED, now_ms)
        self.pending_sync_ids = set(self.members)
        self.new_member_added = False
        self.is_assignment_written = False

    def _count(self, member: ClassicMember, by: int) -> None:
        for name in {name for name, _ in member.protocols}:
            self._supporters[name] += by
            if not self._supporters[name]:
                del self._supporters[name]

    # Records

    def stored(self, assignments: dict[str, bytes] | None = None) -> GroupMetadataValue:
        """The group as its record says it, with ``assignments`` for the present ones.

        Members that get none there keep nothing.
        """
        protocol = self.protocol_name
        return GroupMetadataValue(
            protocol_type=self.protocol_type or NO_PROTOCOL_TYPE,
            generation=self.generation_id,
            protocol=protocol,
            leader=self.leader_id,
            current_state_timestamp=self.state_timestamp,
            members=[
                GroupMember(
                    member_id=each.member_id,
                    group_instance_id=each.group_instance_id,
                    client_id=each.client_id,
                    client_host=each.client_host,
                    rebalance_timeout=each.rebalance_timeout_ms,
                    session_timeout=each.session_timeout_ms,
                    subscription=each.metadata_for(protocol or ""),
                    assignment=each.assignment
                    if assignments is None
                    else assignments.get(each.member_id, b""),
                )
                for each in self.members.values()
            ],
        )

    @classmethod
    def loaded(cls, group_id: str, value: GroupMetadataValue) -> ClassicGroup:
        """The group that a record describes: stable, or empty without members."""
        group = cls(group_id, value.current_state_timestamp)
        group.generation_id = value.generation
        group.protocol_type = value.protocol_type or None
        group.protocol_name = value.protocol
        for each in value.members:
            # Older records do not say how long to wait for a rebalance.
            rebalance_timeout_ms = each.rebalance_timeout
            if rebalance_timeout_ms < 0:
                rebalance_timeout_ms = each.session_timeout
            group.add(
                ClassicMember(
                    each.member_id,
                    each.group_instance_id,
                    each.client_id,
                    each.client_host,
                    rebalance_timeout_ms,
                    each.session_timeout,
                    value.protocol_type,
                    ((value.protocol or "", bytes(each.subscription)),),
                    bytes(each.assignment),
                )
            )
        group.leader_id = value.leader
        group.state = ClassicState.STABLE if value.members else ClassicState.EMPTY
        return group

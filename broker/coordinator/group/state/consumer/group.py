"""A consumer group (KIP-848): what its records add up to.

Invariants: whatever is written is changed by replay alone (`replay` is the module that
does it), so that a restart arrives at the same; a partition has one owner, the member
that has it assigned or has yet to give it up. The fields under "not written" only save
or order work: after a start they begin anew.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.consumer_protocol import PROTOCOL_TYPE

from .member import NOTHING, ConsumerMember

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .member import Held, Holding, MemberInfo, Partitions

NO_TIME = -1


class ConsumerState(Enum):
    """What a group is doing; the values are the names that clients are told."""

    EMPTY = "Empty"
    """It has no members; perhaps it has offsets."""
    ASSIGNING = "Assigning"
    """Something has changed, and the next heartbeat assigns anew."""
    RECONCILING = "Reconciling"
    """Members give up partitions, or wait for what others give up."""
    STABLE = "Stable"
    """Every member has what it shall have."""
    DEAD = "Dead"
    """It is gone."""


class ResolvedPattern(NamedTuple):
    """The topics that a pattern matched, when, and how many changes of topics ago."""

    topics: frozenset[str]
    version: int
    time_ms: int


class ConsumerGroup:
    """One group."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = 0
        self.metadata_hash = 0
        self.assignment_epoch = 0
        self.assignment_time_ms = NO_TIME
        self.members: dict[str, ConsumerMember] = {}
        self.static_members: dict[str, str] = {}
        self.targets: dict[str, Partitions] = {}
        self.patterns: dict[str, ResolvedPattern] = {}
        self.is_described_as_before_41 = False
        self.is_gone = False
        self._owners: dict[bytes, dict[int, str]] = {}
        self._name_counts: Counter[str] = Counter()
        self._pattern_counts: Counter[str] = Counter()
        # Not written: of when its hash is, and what its patterns match.
        self.seen_topics_version = NO_TIME
        self.patterns_version = NO_TIME
        self.patterns_time_ms = NO_TIME
        self.is_resolving = False

    def __repr__(self) -> str:
        return (
            f"ConsumerGroup({self.group_id!r}, {self.state.value}, epoch {self.epoch},"
            f" {len(self.members)} members)"
        )

    # Questions

    @property
    def protocol_type(self) -> str:
        """Its members are consumers."""
        return PROTOCOL_TYPE

    @property
    def is_empty(self) -> bool:
        """Whether it has no members."""
        return not self.members

    @property
    def state(self) -> ConsumerState:
        """What it is doing."""
        if self.is_gone:
            return ConsumerState.DEAD
        if not self.members:
            return ConsumerState.EMPTY
        if self.epoch > self.assignment_epoch:
            return ConsumerState.ASSIGNING
        epoch = self.assignment_epoch
        if all(each.has_settled(epoch) for each in self.members.values()):
            return ConsumerState.STABLE
        return ConsumerState.RECONCILING

    def target_of(self, member_id: str) -> Partitions:
        """What a member shall read."""
        return self.targets.get(member_id, NOTHING)

    def static_member(self, instance_id: str) -> ConsumerMember | None:
        """The member that has this instance id now."""
        member_id = self.static_members.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def owner_of(self, topic_id: bytes, partition: int) -> str | None:
        """The member that has a partition, or has yet to give it up."""
        return self._owners.get(topic_id, {}).get(partition)

    def matched(self, pattern: str) -> frozenset[str]:
        """The topics that a pattern is known to match."""
        found = self.patterns.get(pattern)
        return frozenset() if found is None else found.topics

    def topics_of(self, info: MemberInfo) -> frozenset[str]:
        """The names of all topics that such a member subscribes to."""
        if not info.pattern:
            return frozenset(info.topic_names)
        return self.matched(info.pattern).union(info.topic_names)

    def subscribed_topics(self) -> frozenset[str]:
        """The names of all topics that any member subscribes to."""
        return self.matched_by(self._pattern_counts).union(self._name_counts)

    def subscribed_topics_with(
        self,
        gone: Iterable[MemberInfo],
        new: MemberInfo | None,
        matched: Mapping[str, frozenset[str]],
    ) -> frozenset[str]:
        """The same, if members were not there, one were, or patterns matched these."""
        names, patterns = Counter(self._name_counts), Counter(self._pattern_counts)
        changes = [(each, -1) for each in gone]
        if new is not None:
            changes.append((new, 1))
        for info, by in changes:
            _count(names, info.topic_names, by)
            _count(patterns, _patterns_of(info), by)
        rest = [each for each in patterns if each not in matched]
        found = [topics for text, topics in matched.items() if patterns[text]]
        return self.matched_by(rest).union(names, *found)

    def matched_by(self, patterns: Iterable[str]) -> frozenset[str]:
        """The topics that any of these matches."""
        return frozenset().union(*(self.matched(each) for each in patterns))

    def used_patterns(self) -> list[str]:
        """Every pattern by which any member subscribes."""
        return list(self._pattern_counts)

    def subscribers_by(self, pattern: str) -> int:
        """How many members subscribe by this pattern."""
        return self._pattern_counts[pattern]

    # What records change

    def put_info(self, member_id: str, info: MemberInfo) -> None:
        """A member describes itself."""
        member = self._member(member_id)
        self._forget_subscription(member)
        self._forget_instance(member)
        member.info = info
        _count(self._name_counts, info.topic_names, 1)
        _count(self._pattern_counts, _patterns_of(info), 1)
        if info.instance_id is not None:
            self.static_members[info.instance_id] = member_id

    def remove(self, member_id: str) -> None:
        """A member is gone."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._forget_subscription(member)
            self._forget_instance(member)
            self._disown(member)

    def put_holding(self, member_id: str, holding: Holding) -> None:
        """A member has other partitions."""
        member = self._member(member_id)
        self._disown(member)
        member.holding = holding
        for held in (holding.assigned, holding.pending):
            for topic_id, partitions in held.items():
                owners = self._owners.setdefault(topic_id, {})
                owners.update(dict.fromkeys(partitions, member_id))

    def _member(self, member_id: str) -> ConsumerMember:
        member = self.members.get(member_id)
        if member is None:
            member = self.members[member_id] = ConsumerMember(member_id)
        return member

    def _disown(self, member: ConsumerMember) -> None:
        for held in (member.holding.assigned, member.holding.pending):
            self._disown_held(member.member_id, held)

    def _disown_held(self, member_id: str, held: Held) -> None:
        for topic_id, partitions in held.items():
            owners = self._owners.get(topic_id, {})
            for partition in partitions:
                if owners.get(partition) == member_id:
                    del owners[partition]
            if not owners:
                self._owners.pop(topic_id, None)

    def _forget_subscription(self, member: ConsumerMember) -> None:
        info = member.info
        _count(self._name_counts, info.topic_names, -1)
        _count(self._pattern_counts, _patterns_of(info), -1)

    def _forget_instance(self, member: ConsumerMember) -> None:
        instance_id = member.info.instance_id
        if (
            instance_id is not None
            and self.static_members.get(instance_id) == member.member_id
        ):
            del self.static_members[instance_id]


def _patterns_of(info: MemberInfo) -> tuple[str, ...]:
    return (info.pattern,) if info.pattern else ()


def _count(counts: Counter[str], names: tuple[str, ...], by: int) -> None:
    for name in names:
        counts[name] += by
        if not counts[name]:
            del counts[name]

"""A share group as a decision will leave it: what it is now, and the records so far.

A decision changes nothing, and yet each of its steps builds on the one before. What
they have decided stands here until it is written and replayed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.consumer.draft import FIRST_EPOCH
from odradek.broker.coordinator.group.consumer.targets.topic_hash import topic_hash
from odradek.broker.coordinator.group.state.consumer.records import (
    GroupEpoch,
    TargetEpoch,
)
from odradek.broker.coordinator.group.state.share import records
from odradek.broker.coordinator.group.state.share.records import ShareRecord
from odradek.broker.coordinator.group.state.share.states import TopicStates

from .assignor import Sharer, assign_simple
from .settings import assignment_interval_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.coordinator.decision import CoordinatorRecord
    from odradek.broker.coordinator.group.state.consumer.member import Partitions
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.share.group import ShareGroup
    from odradek.broker.coordinator.group.state.share.member import ShareMemberInfo
    from odradek.broker.coordinator.group.state.share.states import States


class ShareDraft:
    """The records of one decision about one group."""

    def __init__(self, shard: GroupShard, group: ShareGroup) -> None:
        self.group = group
        self.records: list[CoordinatorRecord] = []
        self.epoch = group.epoch or FIRST_EPOCH
        self.assignment_epoch = group.assignment_epoch
        self.states = group.states
        self.gone: set[str] = set()
        self.changed: dict[str, ShareMemberInfo] = {}
        self.targets: dict[str, Partitions] = {}
        self.assigns_in_ms: int | None = None
        self._shard = shard

    def put(self, key: int, name: str = "", value: object = None) -> None:
        """Add a record of the group; without a value it says that something is gone."""
        self.records.append(ShareRecord(key, self.group.group_id, name, value))

    # Members

    def describe(self, member_id: str, info: ShareMemberInfo) -> None:
        """A member describes itself anew, or for the first time."""
        self.changed[member_id] = info
        self.put(records.MEMBER_KEY, member_id, info)

    def remove(self, member_id: str) -> None:
        """Let a member go."""
        self.gone.add(member_id)
        self.put(records.HOLDING_KEY, member_id)
        self.put(records.TARGET_KEY, member_id)
        self.put(records.MEMBER_KEY, member_id)

    def infos(self) -> Iterator[tuple[str, ShareMemberInfo]]:
        """The members that there will be, as they describe themselves."""
        for member_id, member in self.group.members.items():
            if member_id not in self.gone and member_id not in self.changed:
                yield member_id, member.info
        yield from self.changed.items()

    def target_of(self, member_id: str) -> Partitions:
        """What a member shall read."""
        target = self.targets.get(member_id)
        return self.group.target_of(member_id) if target is None else target

    def subscribed_topics(self) -> frozenset[str]:
        """The names of all topics that will be subscribed to."""
        if not (self.changed or self.gone):
            return self.group.subscribed_topics()
        return frozenset().union(*(info.topic_names for _, info in self.infos()))

    # States

    def put_states(self, states: States) -> None:
        """Other partitions have a state, or are to have one."""
        if states != self.states:
            self.states = states
            self.put(records.STATES_KEY, value=None if states.is_empty else states)

    def without_state(self) -> dict[bytes, TopicStates]:
        """The partitions of the group's topics that have no state yet."""
        group, version = self.group, self._shard.topics.index_version
        is_as_it_is = not (self.changed or self.gone) and self.states is group.states
        whole_at = group.whole_at if is_as_it_is else None
        if whole_at and whole_at[0] is self.states and whole_at[1] == version:
            return {}  # as for nearly every heartbeat
        found = {}
        for topic in self._shard.known_topics(self.subscribed_topics()):
            missing = self.states.missing(topic.topic_id, len(topic.partitions))
            if missing:
                found[topic.topic_id] = TopicStates(topic.name, missing)
        if is_as_it_is and not found:
            group.whole_at = self.states, version
        return found

    # Epochs

    def bump(self) -> None:
        """Begin another epoch: whoever shall read what is to be found out anew."""
        self.epoch += 1
        self.write_epoch()

    def write_epoch(self) -> None:
        """Note the epoch, and what the topics of the group are like now."""
        found = topic_hash(self._shard.topics, self.subscribed_topics())
        if (self.epoch, found) != (self.group.epoch, self.group.metadata_hash):
            self.put(records.EPOCH_KEY, value=GroupEpoch(self.epoch, found))

    def has_other_topics(self) -> bool:
        """Whether the topics of the group are not what they were in its last epoch.

        Or some of them have a state that nobody was assigned yet. Asked when any topic
        was made, has grown, or was deleted, and after a start.
        """
        group, topics = self.group, self._shard.topics
        version = topics.index_version
        if group.seen_topics_version == version:
            return False
        found = topic_hash(topics, self.subscribed_topics())
        if found != group.metadata_hash or self._has_more():
            return True
        group.seen_topics_version = version
        return False

    def _has_more(self) -> bool:
        """As Apache Kafka leaves it between two heartbeats of the first member."""
        group = self.group
        if group.epoch != group.assignment_epoch:
            return False  # it is assigned anyway
        readable = self._readable(self.subscribed_topics())
        targets = group.targets.values()
        return any(
            numbers != frozenset().union(*(each.get(key, ()) for each in targets))
            for key, numbers in readable.items()
        )

    # The target

    def assign(self) -> None:
        """Find a target for the group's epoch, unless it is too soon after the last.

        Then a heartbeat in ``assigns_in_ms`` finds it; until then the old one holds.
        """
        group, now_ms = self.group, self._shard.clock.now_ms()
        if self.epoch <= self.assignment_epoch:
            return
        passed_ms = now_ms - group.assignment_time_ms
        interval_ms = assignment_interval_ms(self._shard, group.group_id)
        # A clock that was set back must not keep the group waiting.
        if group.assignment_time_ms >= 0 and 0 <= passed_ms < interval_ms:
            self.assigns_in_ms = interval_ms - passed_ms
            return
        ids_of: dict[tuple[str, ...], frozenset[bytes]] = {}
        sharers = []
        for member_id, info in self.infos():
            topic_ids = ids_of.get(info.topic_names)
            if topic_ids is None:  # mostly all members say the same
                topics = self._shard.known_topics(info.topic_names)
                topic_ids = frozenset(each.topic_id for each in topics)
                ids_of[info.topic_names] = topic_ids
            sharers.append(Sharer(member_id, topic_ids, self.target_of(member_id)))
        partitions = self._readable(self.subscribed_topics())
        for member_id, target in assign_simple(sharers, partitions).items():
            if member_id not in group.targets or target != self.target_of(member_id):
                self.put(records.TARGET_KEY, member_id, target)
            self.targets[member_id] = target
        self.assignment_epoch = self.epoch
        value = TargetEpoch(self.epoch, now_ms)
        self.put(records.TARGET_EPOCH_KEY, value=value)

    def _readable(self, names: frozenset[str]) -> Partitions:
        """The partitions that are there, and have a state."""
        found = {}
        for topic in self._shard.known_topics(names):
            states = self.states.initialized.get(topic.topic_id)
            if states is not None:
                there = frozenset(range(len(topic.partitions)))
                found[topic.topic_id] = states.partitions & there
        return found

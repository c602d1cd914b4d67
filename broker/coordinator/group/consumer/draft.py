"""A group as a decision will leave it: what it is now, and the records so far.

A decision changes nothing, and yet each of its steps builds on the one before. What
they have decided stands here until it is written and replayed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.state.consumer import records
from odradek.broker.coordinator.group.state.consumer.records import (
    ConsumerRecord,
    GroupEpoch,
)

from .targets.topic_hash import topic_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from odradek.broker.coordinator.decision import CoordinatorRecord
    from odradek.broker.coordinator.group.state.consumer.group import ConsumerGroup
    from odradek.broker.coordinator.group.state.consumer.member import (
        MemberInfo,
        Partitions,
    )
    from odradek.broker.coordinator.group.state.shard import GroupShard

FIRST_EPOCH = 1


class Draft:
    """The records of one decision about one group."""

    def __init__(self, shard: GroupShard, group: ConsumerGroup) -> None:
        self.group = group
        self.records: list[CoordinatorRecord] = []
        self.epoch = group.epoch or FIRST_EPOCH
        self.assignment_epoch = group.assignment_epoch
        self.gone: dict[str, MemberInfo] = {}
        self.changed: tuple[str, MemberInfo] | None = None
        self.targets: dict[str, Partitions] = {}
        self.patterns: dict[str, frozenset[str]] = {}
        self._shard = shard

    def put(self, key: int, name: str = "", value: object = None) -> None:
        """Add a record of the group; without a value it says that something is gone."""
        self.records.append(ConsumerRecord(key, self.group.group_id, name, value))

    # Members

    def describe(self, member_id: str, info: MemberInfo) -> None:
        """A member describes itself anew, or for the first time."""
        self.changed = member_id, info
        self.put(records.MEMBER_KEY, member_id, info)

    def remove(self, member_id: str) -> None:
        """Let a member go."""
        self.gone[member_id] = self.group.members[member_id].info
        self.put(records.HOLDING_KEY, member_id)
        self.put(records.TARGET_KEY, member_id)
        self.put(records.MEMBER_KEY, member_id)

    def infos(self) -> Iterator[tuple[str, MemberInfo]]:
        """The members that there will be, as they describe themselves."""
        changed_id = None if self.changed is None else self.changed[0]
        for member_id, member in self.group.members.items():
            if member_id not in self.gone and member_id != changed_id:
                yield member_id, member.info
        if self.changed is not None:
            yield self.changed

    def target_of(self, member_id: str) -> Partitions:
        """What a member shall read."""
        target = self.targets.get(member_id)
        return self.group.target_of(member_id) if target is None else target

    def subscribed_topics(self) -> frozenset[str]:
        """The names of all topics that will be subscribed to."""
        gone: Iterable[MemberInfo] = self.gone.values()
        if self.changed is None:
            return self.group.subscribed_topics_with(gone, None, self.patterns)
        member_id, info = self.changed
        member = self.group.members.get(member_id)
        if member is not None and member_id not in self.gone:
            gone = [*gone, member.info]
        return self.group.subscribed_topics_with(gone, info, self.patterns)

    # Epochs

    def bump(self) -> None:
        """Begin another epoch: whoever shall read what is to be found out anew."""
        self.epoch += 1
        self.write_epoch()

    def write_epoch(self) -> None:
        """Note the epoch, and what the topics of the group are like now."""
        group = self.group
        found = topic_hash(self._shard.topics, self.subscribed_topics())
        if (self.epoch, found) == (group.epoch, group.metadata_hash):
            return
        self.put(records.EPOCH_KEY, value=GroupEpoch(self.epoch, found))
        if group.is_described_as_before_41:
            self.put(records.OLD_TOPICS_KEY)

    def has_other_topics(self) -> bool:
        """Whether the topics of the group are not what they were in its last epoch.

        Asked when any topic was made, has grown, or was deleted, and after a start.
        """
        group, version = self.group, self._shard.topics.index_version
        if group.seen_topics_version == version:
            return False
        names = self.subscribed_topics()
        if topic_hash(self._shard.topics, names) != group.metadata_hash:
            return True
        group.seen_topics_version = version
        return False

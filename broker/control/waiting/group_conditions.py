"""Groups have assigned, committed or read something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.control.reading import count_records
from odradek.broker.control.topics import missing_topic
from odradek.broker.coordinator.group.state.share.group import ShareGroup
from odradek.broker.coordinator.group.state.subscription import topics_read
from odradek.broker.coordinator.phase import Phase
from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition
from odradek.terminal.spelling import did_you_mean

from .group_members import assigned_of, is_stable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from odradek.broker.coordinator.group.state.shard import Group, GroupShard
    from odradek.broker.requests.services import Services
    from odradek.broker.share.sharing import Sharing

    from .assignments import Assignments


class OneGroup:
    """A group, which may not be there yet."""

    def __init__(self, services: Services, group_id: str) -> None:
        self.services = services
        self.group_id = group_id
        self._durable_at = -1

    def end(self) -> None:
        """Nothing is held."""

    def places(self) -> Iterable[TopicPartition]:
        """The partition that the group's records are in."""
        try:
            return [self.services.groups.partition_of(self.group_id)]
        except KafkaError:  # that topic is made with the first group
            return []

    def shard(self) -> GroupShard | None:
        """What knows the group, if it is loaded."""
        runtime = self.services.groups.runtime
        try:
            shard = runtime.shard(runtime.partition_of(self.group_id))
        except KafkaError:
            return None
        return shard.state if shard.phase is Phase.ACTIVE else None

    def group(self) -> Group | None:
        """The group, if it is there."""
        shard = self.shard()
        return None if shard is None else shard.group_of_any_type(self.group_id)

    def no_group(self) -> str:
        """That it is not there, and what may have been meant."""
        known = [
            group.group_id
            for shard in self.services.groups.runtime.shards()
            for group in shard.state.all_groups()
        ]
        meant = did_you_mean(self.group_id, known)
        hint = f"; did you mean {meant}?" if meant else ""
        return f"there is no group {self.group_id}{hint}"

    def not_durable(self) -> str:
        """What is known of the group is not on the disk yet; empty when it is."""
        place = self.services.groups.partition_of(self.group_id)
        view = self.services.replica_manager.partition(place).view
        if self._durable_at < 0:
            self._durable_at = view.log_end_offset
        if view.high_watermark >= self._durable_at:
            return ""
        return f"what {self.group_id} has committed is not synced yet"

    def forget_durable(self) -> None:
        """The condition does not hold: what will make it hold is to come."""
        self._durable_at = -1


class HasAssigned(OneGroup):
    """A group is stable, with so many members, who read all that they subscribe to."""

    def __init__(
        self,
        services: Services,
        assignments: Assignments,
        group_id: str,
        member_count: int,
        *,
        must_read: bool,
        tell: Callable[[], object],
    ) -> None:
        super().__init__(services, group_id)
        self._assignments = assignments
        self._member_count = member_count
        self._must_read = must_read
        self._tell = tell
        self._sharing: Sharing | None = None

    def end(self) -> None:
        """Nobody waits for it any more."""
        if self._sharing is not None:
            self._sharing.watchers.remove(self._tell)

    def missing(self) -> str:
        """What the group does instead, and what its members do not read."""
        group = self.group()
        if group is None:
            return self.no_group()
        count, wanted = len(group.members), self._member_count
        if count != wanted:
            return (
                f"{self.group_id} has {count} of {wanted} members ({group.state.value})"
            )
        if not wanted and group.is_empty:
            return ""
        if not is_stable(group):
            return f"{self.group_id} has its members and is {group.state.value}"
        return self._not_read(group) if self._must_read else ""

    def _not_read(self, group: Group) -> str:
        """What nobody reads yet. Before a client knows a topic it assigns nothing."""
        assigned, topics = self._assignments.of(group), self.services.metadata
        wanted: list[TopicPartition] = []
        for name in sorted(topics_read(group) or ()):
            topic = topics.get(name)
            if topic is None:
                missing = missing_topic(self.services, name)
                return f"{self.group_id} is stable, and {missing}"
            wanted += [TopicPartition(name, of.partition) for of in topic.partitions]
        unassigned = [each for each in wanted if each not in assigned.clients]
        if unassigned:
            places = ", ".join(map(str, unassigned))
            return f"{self.group_id} is stable, and nobody is assigned {places} yet"
        unread = assigned.unread
        if isinstance(group, ShareGroup):
            unread = assigned.clients.keys() - self._begun()
        if unread:
            places = ", ".join(map(str, sorted(unread)))
            return (
                f"{self.group_id} is stable, and its members do not read {places} yet"
            )
        return ""

    def _begun(self) -> set[TopicPartition]:
        """The partitions in which it is settled where a share group begins."""
        if self._sharing is None:
            self._sharing = self.services.sharing
            self._sharing.watchers.append(self._tell)
        return {
            served.topic_partition
            for served in self._sharing.served()
            if served.is_loaded and served.key.group_id == self.group_id
        }


class Committed(OneGroup):
    """A group has committed an offset, or a higher one."""

    def __init__(
        self, services: Services, group_id: str, place: TopicPartition, offset: int
    ) -> None:
        super().__init__(services, group_id)
        self._place = place
        self._offset = offset

    def missing(self) -> str:
        """What it has committed instead."""
        shard = self.shard()
        if shard is None or self.group() is None:
            return self.no_group()
        found = shard.offsets.get(self.group_id, *self._place)
        if found is not None and found.offset >= self._offset:
            return self.not_durable()
        self.forget_durable()
        what = "nothing" if found is None else str(found.offset)
        text = f"{self.group_id} has committed {what} of {self._place}"
        if shard.offsets.is_pending(self.group_id, *self._place):
            text += ", and more in a transaction that is open"
        return f"{text}, not {self._offset}"


class AllRead(OneGroup):
    """A group has committed behind the last record of all that it reads.

    Records are those of committed readers: a marker at the end of a log is none. Where
    nothing is committed, those before the first fetch are none of the group's.
    """

    def __init__(
        self,
        services: Services,
        assignments: Assignments,
        group_id: str,
        topic: str | None,
    ) -> None:
        super().__init__(services, group_id)
        self._assignments = assignments
        self._topic = topic

    def places(self) -> Iterable[TopicPartition]:
        """Where it commits, and what it reads."""
        return [*super().places(), *self._read()]

    def missing(self) -> str:
        """By how much it lags where."""
        if self._topic and self.services.metadata.get(self._topic) is None:
            return missing_topic(self.services, self._topic)
        if self.group() is None:
            return self.no_group()
        read = self._read()
        if not read:
            return f"{self.group_id} has committed nothing, and is assigned nothing"
        lags = {place: lag for place in read if (lag := self._lag(place))}
        if not lags:
            return self.not_durable()
        self.forget_durable()
        texts = (f"{place} by {lag}" for place, lag in sorted(lags.items()))
        return f"{self.group_id} lags behind: {', '.join(texts)}"

    def _read(self) -> list[TopicPartition]:
        shard, group = self.shard(), self.group()
        if shard is None or group is None:
            return []
        found = {
            TopicPartition(*each) for each in shard.offsets.of_group(self.group_id)
        }
        topics = self.services.metadata
        found.update(*assigned_of(group, topics).values())
        if self._topic and (topic := topics.get(self._topic)) is not None:
            found |= {TopicPartition(topic.name, of[0]) for of in topic.partitions}
        return sorted(
            each
            for each in found
            if topics.partition(each) is not None and self._topic in (None, each.topic)
        )

    def _lag(self, place: TopicPartition) -> int:
        shard = self.shard()
        assert shard is not None
        committed = shard.offsets.get(self.group_id, *place)
        view = self.services.replica_manager.partition(place).view
        begin = self._begin(place) if committed is None else committed.offset
        return count_records(view, begin, view.last_stable_offset)

    def _begin(self, place: TopicPartition) -> int:
        """Where the group reads from that has committed nothing there."""
        group = self.group()
        if group is None or not is_stable(group):
            return 0
        return self._assignments.of(group).began.get(place, 0)

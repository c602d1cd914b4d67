"""A streams group as a decision will leave it: what it is now, and the records so far.

A decision changes nothing, and yet each of its steps builds on the one before. What
they have decided stands here until it is written and replayed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.consumer.targets.topic_hash import topic_hash
from odradek.broker.coordinator.group.state.streams import records
from odradek.broker.coordinator.group.state.streams.group import Configured
from odradek.broker.coordinator.group.state.streams.member import NO_TOPOLOGY_EPOCH
from odradek.broker.coordinator.group.state.streams.records import (
    StreamsEpoch,
    StreamsRecord,
)
from odradek.protocol.errors import FencedMemberEpoch, InvalidRequest

from .settings import assignment_configs
from .topology.configure import configure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.coordinator.decision import CoordinatorRecord
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.streams.configured import (
        ConfiguredTopology,
    )
    from odradek.broker.coordinator.group.state.streams.group import StreamsGroup
    from odradek.broker.coordinator.group.state.streams.member import StreamsMemberInfo
    from odradek.broker.coordinator.group.state.streams.tasks import Tasks
    from odradek.broker.coordinator.group.state.streams.topology import Topology


class StreamsDraft:
    """The records of one decision about one group."""

    def __init__(self, shard: GroupShard, group: StreamsGroup) -> None:
        self.group = group
        self.records: list[CoordinatorRecord] = []
        self.epoch = group.epoch
        self.assignment_epoch = group.assignment_epoch
        self.topology = group.topology
        self.metadata_hash = group.metadata_hash
        self.validated_epoch = group.validated_epoch
        self.configs = group.configs
        self.gone: set[str] = set()
        self.changed: dict[str, StreamsMemberInfo] = {}
        self.targets: dict[str, Tasks] = {}
        self._shard = shard

    def put(self, key: int, name: str = "", value: object = None) -> None:
        """Add a record of the group; without a value it says that something is gone."""
        self.records.append(StreamsRecord(key, self.group.group_id, name, value))

    # Members

    def describe(self, member_id: str, info: StreamsMemberInfo) -> None:
        """A member describes itself anew, or for the first time."""
        self.changed[member_id] = info
        self.put(records.MEMBER_KEY, member_id, info)

    def remove(self, member_id: str) -> None:
        """Let a member go."""
        self.gone.add(member_id)
        self.put(records.HOLDING_KEY, member_id)
        self.put(records.TARGET_KEY, member_id)
        self.put(records.MEMBER_KEY, member_id)

    def infos(self) -> Iterator[tuple[str, StreamsMemberInfo]]:
        """The members that there will be, as they describe themselves."""
        for member_id, member in self.group.members.items():
            if member_id not in self.gone and member_id not in self.changed:
                yield member_id, member.info
        yield from self.changed.items()

    def target_of(self, member_id: str) -> Tasks:
        """The tasks that a member shall have."""
        target = self.targets.get(member_id)
        return self.group.target_of(member_id) if target is None else target

    # The topology, and its topics

    def note_topology(self, said: Topology | None) -> Topology:
        """What the application computes: as the first member says, from then on.

        Raises:
            InvalidRequest: a member says something else.
            FencedMemberEpoch: nobody has said it yet: the member is to join again.
        """
        known = self.topology
        if known is None:
            if said is None:
                raise FencedMemberEpoch(
                    "The topology of the group is not known. The member must abandon "
                    "all its tasks and rejoin."
                )
            self.topology = known = said
            self.put(records.TOPOLOGY_KEY, value=said)
        elif said is not None and said.epoch >= known.epoch and said != known:
            raise InvalidRequest("Topology updates are not supported yet.")
        return known

    def look_at_topics(self) -> ConfiguredTopology:
        """What there is of the topics of the topology.

        They are looked at when any topic was made, has grown, or was deleted, and
        after a start.

        Raises:
            StreamsInvalidTopology: whatever there was, it cannot be computed.
        """
        group, topics, topology = self.group, self._shard.topics, self.topology
        assert topology is not None, "a topology is noted first"
        known = group.configured
        if known is not None and known.topology != topology:
            known = None
        if known is None or group.seen_topics_version != topics.index_version:
            self.metadata_hash = topic_hash(topics, topology.required_topics)
            if known is None or known.metadata_hash != self.metadata_hash:
                found = configure(topology, self._count)
                known = Configured(topology, self.metadata_hash, found)
                group.configured = known
            if self.metadata_hash == group.metadata_hash:
                group.seen_topics_version = topics.index_version
        is_ready = known.found.problem is None
        self.validated_epoch = topology.epoch if is_ready else NO_TOPOLOGY_EPOCH
        return known.found

    def _count(self, name: str) -> int | None:
        topic = self._shard.topics.get(name)
        return None if topic is None else len(topic.partitions)

    # Epochs

    def bump_if_other(self, has_other_members: bool) -> None:
        """Begin another epoch, if tasks may have to be assigned anew."""
        group = self.group
        self.configs = assignment_configs(self._shard, group.group_id)
        if has_other_members or (
            self.metadata_hash,
            self.validated_epoch,
            self.configs,
        ) != (group.metadata_hash, group.validated_epoch, group.configs):
            self.bump()

    def bump(self) -> None:
        """Begin another epoch: who shall work on what is to be found out anew."""
        self.epoch += 1
        value = StreamsEpoch(
            self.epoch, self.metadata_hash, self.validated_epoch, self.configs
        )
        self.put(records.EPOCH_KEY, value=value)

"""What members of groups were assigned, whichever protocol they speak."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.state.classic_group import ClassicGroup
from odradek.broker.coordinator.group.state.classic_member import ClassicMember
from odradek.broker.coordinator.group.state.share.group import ShareGroup
from odradek.broker.coordinator.group.state.streams.group import StreamsGroup
from odradek.protocol.consumer_protocol import PROTOCOL_TYPE, decode_assignment
from odradek.protocol.errors import MalformedRequest
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.consumer.member import ConsumerMember
    from odradek.broker.coordinator.group.state.shard import Group
    from odradek.broker.coordinator.group.state.share.member import ShareMember
    from odradek.broker.coordinator.group.state.streams.member import StreamsMember
    from odradek.broker.metadata.topic_index import TopicIndex

    Member = ClassicMember | ConsumerMember | ShareMember | StreamsMember

STABLE = "Stable"


def is_stable(group: Group) -> bool:
    """Whether every member has its assignment."""
    if isinstance(group, ShareGroup) and not group.is_settled:
        return False
    return bool(group.state.value == STABLE)


def generation_of(group: Group) -> int:
    """Another number for every assignment of a group."""
    if isinstance(group, ClassicGroup):
        return group.generation_id
    return group.assignment_epoch


def client_of(member: Member) -> tuple[str, str]:
    """The id and the address of a member's client."""
    said = member if isinstance(member, ClassicMember) else member.info
    # Kafka writes hosts with a slash before the address.
    return said.client_id, said.client_host.removeprefix("/")


def instance_of(member: Member) -> str | None:
    """The instance id of a static member."""
    if isinstance(member, ClassicMember):
        return member.group_instance_id
    # Members of share groups are none.
    return getattr(member.info, "instance_id", None)


def assigned_of(group: Group, topics: TopicIndex) -> dict[str, list[TopicPartition]]:
    """What each member was assigned; nothing, when it is no consumer's assignment."""
    if isinstance(group, StreamsGroup):
        return {key: _read(group, key, topics) for key in group.members}
    return {key: _places_of(each, topics) for key, each in group.members.items()}


def _places_of(
    member: ClassicMember | ConsumerMember | ShareMember, topics: TopicIndex
) -> list[TopicPartition]:
    if not isinstance(member, ClassicMember):
        return [
            TopicPartition(topic.name, partition)
            for topic_id, partitions in member.holding.assigned.items()
            if (topic := topics.by_id(topic_id)) is not None
            for partition in sorted(partitions)
        ]
    if member.protocol_type != PROTOCOL_TYPE:
        return []
    try:
        return decode_assignment(member.assignment)
    except MalformedRequest:
        return []


def _read(
    group: StreamsGroup, member_id: str, topics: TopicIndex
) -> list[TopicPartition]:
    """The input of the tasks that a member works on: not of those it only follows."""
    if group.topology is None:
        return []
    active = group.members[member_id].holding.assigned.active
    return [
        TopicPartition(topic.name, partition)
        for each in group.topology.subtopologies
        for name in each.inputs
        if (topic := topics.get(name)) is not None
        for partition in sorted(active.get(each.subtopology_id, ()))
        if partition < len(topic.partitions)
    ]

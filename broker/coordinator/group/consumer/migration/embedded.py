"""What members of the classic protocol say and are told, in bytes of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.consumer_protocol import assignment_as_of
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.consumer.member import Partitions
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.protocol.consumer_protocol import ConsumerProtocolSubscription


def embedded_assignment(
    shard: GroupShard, partitions: Partitions, subscription: bytes
) -> bytes:
    """The assignment, in the version in which the member has said what it reads."""
    places = [
        TopicPartition(topic.name, partition)
        for topic_id, of in sorted(partitions.items())
        if (topic := shard.topics.by_id(topic_id)) is not None
        for partition in sorted(of)
    ]
    return assignment_as_of(subscription, places)


def owned_of(
    shard: GroupShard, said: ConsumerProtocolSubscription
) -> dict[bytes, frozenset[int]]:
    """The partitions that a member says to have; of topics that are there."""
    owned: dict[bytes, frozenset[int]] = {}
    for each in said.owned_partitions:
        topic = shard.topics.get(each.topic)
        if topic is not None:
            known = owned.get(topic.topic_id, frozenset())
            owned[topic.topic_id] = known.union(each.partitions)
    return owned

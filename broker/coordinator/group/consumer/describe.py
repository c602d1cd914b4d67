"""ConsumerGroupDescribe: what a group does, and what each member has and shall have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.state.consumer.member import partitions_of
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.consumer_groups import (
    ConsumerGroupAssignment,
    ConsumerGroupMember,
    ConsumerGroupTopicPartitions,
    DescribedConsumerGroup,
)

from .finding import known_group
from .targets.target import preferred_assignor

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.consumer.group import ConsumerGroup
    from odradek.broker.coordinator.group.state.consumer.member import (
        ConsumerMember,
        Holding,
        Partitions,
    )
    from odradek.broker.coordinator.group.state.shard import GroupShard

CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1


def decide_describe_consumer_group(shard: GroupShard, group_id: str) -> Decision:
    """Tell what a group does.

    Raises:
        GroupIdNotFound: there is none, or one of another type.
    """
    group = known_group(shard, group_id)
    infos = [each.info for each in group.members.values()]
    described = DescribedConsumerGroup(
        error_code=ErrorCode.NONE,
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=preferred_assignor(infos, shard.config.group_consumer_assignors),
        members=[_member(shard, group, each) for each in group.members.values()],
    )
    return Decision(described, reads_state=True)


def _member(
    shard: GroupShard, group: ConsumerGroup, member: ConsumerMember
) -> ConsumerGroupMember:
    info, holding = member.info, member.holding
    return ConsumerGroupMember(
        member_id=member.member_id,
        instance_id=info.instance_id,
        rack_id=info.rack_id,
        member_epoch=holding.epoch,
        client_id=info.client_id,
        client_host=info.client_host,
        subscribed_topic_names=list(info.topic_names),
        subscribed_topic_regex=info.pattern,
        # What it has yet to give up is still its own.
        assignment=_assignment(shard, _held(holding)),
        target_assignment=_assignment(shard, group.target_of(member.member_id)),
        member_type=CLASSIC_MEMBER if member.is_classic else CONSUMER_MEMBER,
    )


def _held(holding: Holding) -> Partitions:
    held = dict(partitions_of(holding.assigned))
    for topic_id, partitions in partitions_of(holding.pending).items():
        held[topic_id] = held.get(topic_id, frozenset()) | partitions
    return held


def _assignment(shard: GroupShard, partitions: Partitions) -> ConsumerGroupAssignment:
    """With the names of topics: those that were deleted have none any more."""
    return ConsumerGroupAssignment(
        topic_partitions=[
            ConsumerGroupTopicPartitions(
                topic_id=topic_id, topic_name=topic.name, partitions=sorted(numbers)
            )
            for topic_id, numbers in sorted(partitions.items())
            if (topic := shard.topics.by_id(topic_id)) is not None
        ]
    )

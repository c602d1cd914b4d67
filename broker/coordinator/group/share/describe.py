"""ShareGroupDescribe: what a group does, and what each member has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.share_groups import (
    DescribedShareGroup,
    ShareGroupAssignment,
    ShareGroupMember,
    ShareGroupTopicPartitions,
)

from .assignor import NAME
from .finding import known_group

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.share.member import ShareMember


def decide_describe_share_group(shard: GroupShard, group_id: str) -> Decision:
    """Tell what a group does.

    Raises:
        GroupIdNotFound: there is none, or one of another type.
    """
    group = known_group(shard, group_id)
    described = DescribedShareGroup(
        error_code=ErrorCode.NONE,
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=NAME,
        members=[_member(shard, each) for each in group.members.values()],
    )
    return Decision(described, reads_state=True)


def _member(shard: GroupShard, member: ShareMember) -> ShareGroupMember:
    info, holding = member.info, member.holding
    return ShareGroupMember(
        member_id=member.member_id,
        rack_id=info.rack_id,
        member_epoch=holding.epoch,
        client_id=info.client_id,
        client_host=info.client_host,
        subscribed_topic_names=list(info.topic_names),
        # With the names of topics: those that were deleted have none any more.
        assignment=ShareGroupAssignment(
            topic_partitions=[
                ShareGroupTopicPartitions(
                    topic_id=topic_id, topic_name=topic.name, partitions=sorted(numbers)
                )
                for topic_id, numbers in sorted(holding.assigned.items())
                if (topic := shard.topics.by_id(topic_id)) is not None
            ]
        ),
    )

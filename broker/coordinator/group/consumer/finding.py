"""The group and the member that a request is about."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.coordinator.group.known import (
    group_of_type,
    not_of_type,
    unknown_member,
)
from odradek.broker.coordinator.group.state.consumer.group import ConsumerGroup
from odradek.broker.coordinator.group.state.records import GroupRecord
from odradek.protocol.errors import FencedInstanceId, GroupIdNotFound, UnknownMemberId

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from odradek.broker.coordinator.decision import CoordinatorRecord
    from odradek.broker.coordinator.group.state.consumer.member import ConsumerMember
    from odradek.broker.coordinator.group.state.shard import GroupShard

TYPE = "consumer"


class Found(NamedTuple):
    """A group, and what has to be written before anything else of it.

    ``then`` follows when all is durable.
    """

    group: ConsumerGroup
    before: Sequence[CoordinatorRecord] = ()
    then: Callable[[], object] | None = None

    @property
    def is_converted(self) -> bool:
        """Whether it was a classic group until now."""
        return bool(self.before)


def find_group(shard: GroupShard, group_id: str, is_joining: bool) -> Found:
    """The group. Who joins makes it, of a classic one if need be.

    Raises:
        GroupIdNotFound: it is not there, or is one of another type and stays so.
    """
    group = shard.consumer_groups.get(group_id)
    if group is not None:
        return Found(group)
    classic = shard.group(group_id)
    if classic is None:
        if shard.group_of_any_type(group_id) is not None:
            raise not_of_type(group_id, TYPE)
        if not is_joining:
            raise GroupIdNotFound(f"Consumer group {group_id} not found.")
        return Found(ConsumerGroup(group_id))
    if not is_joining:
        raise not_of_type(group_id, TYPE)
    if classic.is_empty:
        return Found(ConsumerGroup(group_id), [GroupRecord(group_id, None)])
    from .migration.upgrade import begin_sessions, upgraded

    group, before = upgraded(shard, classic)
    return Found(group, before, partial(begin_sessions, shard, classic))


def known_group(shard: GroupShard, group_id: str) -> ConsumerGroup:
    """The group.

    Raises:
        GroupIdNotFound: there is none, or one of another type.
    """
    return group_of_type(shard, shard.consumer_groups, group_id, TYPE)


def known_member(group: ConsumerGroup, member_id: str) -> ConsumerMember:
    """The member with this id.

    Raises:
        UnknownMemberId: there is none.
    """
    member = group.members.get(member_id)
    if member is None:
        raise unknown_member(group.group_id, member_id)
    return member


def check_instance(
    group: ConsumerGroup, instance_id: str, member_id: str
) -> ConsumerMember:
    """The static member, which has this member id.

    Raises:
        UnknownMemberId: there is no such instance.
        FencedInstanceId: another member has it.
    """
    member = group.static_member(instance_id)
    if member is None:
        raise UnknownMemberId(f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        raise FencedInstanceId(
            f"Static member {member_id} with instance id {instance_id} was fenced by "
            f"member {member.member_id}."
        )
    return member

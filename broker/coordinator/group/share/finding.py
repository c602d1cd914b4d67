"""The share group, and the member, that a request is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.known import (
    group_of_type,
    not_of_type,
    unknown_member,
)
from odradek.broker.coordinator.group.state.share.group import ShareGroup
from odradek.protocol.errors import GroupIdNotFound

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.share.member import ShareMember

TYPE = "share"


def find_group(shard: GroupShard, group_id: str, is_joining: bool) -> ShareGroup:
    """The group. Who joins makes it; but not out of one of another type.

    Raises:
        GroupIdNotFound: it is not there, or is one of another type.
    """
    group = shard.share_groups.get(group_id)
    if group is not None:
        return group
    if shard.group_of_any_type(group_id) is not None:
        raise not_of_type(group_id, TYPE)
    if not is_joining:
        raise GroupIdNotFound(f"Share group {group_id} not found.")
    return ShareGroup(group_id)


def known_group(shard: GroupShard, group_id: str) -> ShareGroup:
    """The group.

    Raises:
        GroupIdNotFound: there is none, or one of another type.
    """
    return group_of_type(shard, shard.share_groups, group_id, TYPE)


def known_member(group: ShareGroup, member_id: str) -> ShareMember:
    """The member with this id.

    Raises:
        UnknownMemberId: there is none.
    """
    member = group.members.get(member_id)
    if member is None:
        raise unknown_member(group.group_id, member_id)
    return member

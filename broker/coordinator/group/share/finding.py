"""The share group, and the member, that a request is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.state.share.group import ShareGroup
from odradek.protocol.errors import GroupIdNotFound, UnknownMemberId

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.share.member import ShareMember


def find_group(shard: GroupShard, group_id: str, is_joining: bool) -> ShareGroup:
    """The group. Who joins makes it; but not out of one of another type.

    Raises:
        GroupIdNotFound: it is not there, or is one of another type.
    """
    group = shard.share_groups.get(group_id)
    if group is not None:
        return group
    if shard.group_of_any_type(group_id) is not None:
        raise not_of_sharers(group_id)
    if not is_joining:
        raise GroupIdNotFound(f"Share group {group_id} not found.")
    return ShareGroup(group_id)


def known_group(shard: GroupShard, group_id: str) -> ShareGroup:
    """The group.

    Raises:
        GroupIdNotFound: there is none, or one of another type.
    """
    group = shard.share_groups.get(group_id)
    if group is not None:
        return group
    if shard.group_of_any_type(group_id) is not None:
        raise not_of_sharers(group_id)
    raise GroupIdNotFound(f"Group {group_id} not found.")


def known_member(group: ShareGroup, member_id: str) -> ShareMember:
    """The member with this id.

    Raises:
        UnknownMemberId: there is none.
    """
    member = group.members.get(member_id)
    if member is None:
        raise UnknownMemberId(
            f"Member {member_id} is not a member of group {group.group_id}."
        )
    return member


def not_of_sharers(group_id: str) -> GroupIdNotFound:
    """The error of a group of another type."""
    return GroupIdNotFound(f"Group {group_id} is not a share group.")

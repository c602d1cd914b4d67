"""The group that a request is about must be there, and be of the right type."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from odradek.protocol.errors import GroupIdNotFound, UnknownMemberId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .state.shard import GroupShard

G = TypeVar("G")


def group_of_type(
    shard: GroupShard, groups: Mapping[str, G], group_id: str, group_type: str
) -> G:
    """The group, one of ``groups``.

    Raises:
        GroupIdNotFound: there is none, or one of another type.
    """
    group = groups.get(group_id)
    if group is not None:
        return group
    if shard.group_of_any_type(group_id) is not None:
        raise not_of_type(group_id, group_type)
    raise GroupIdNotFound(f"Group {group_id} not found.")


def not_of_type(group_id: str, group_type: str) -> GroupIdNotFound:
    """The error of a group of another type."""
    return GroupIdNotFound(f"Group {group_id} is not a {group_type} group.")


def unknown_member(group_id: str, member_id: str) -> UnknownMemberId:
    """The error of who is no member."""
    return UnknownMemberId(f"Member {member_id} is not a member of group {group_id}.")

"""The streams group, and the member, that a request is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.coordinator.group.known import (
    group_of_type,
    not_of_type,
    unknown_member,
)
from odradek.broker.coordinator.group.state.records import GroupRecord
from odradek.broker.coordinator.group.state.streams.group import StreamsGroup
from odradek.protocol.errors import GroupIdNotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.broker.coordinator.decision import CoordinatorRecord
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.streams.member import StreamsMember

TYPE = "streams"


class Found(NamedTuple):
    """A group, and what has to be written before anything else of it."""

    group: StreamsGroup
    before: Sequence[CoordinatorRecord] = ()


def find_group(shard: GroupShard, group_id: str, is_joining: bool) -> Found:
    """The group. Who joins makes it, in the place of an empty classic one if need be.

    Raises:
        GroupIdNotFound: it is not there, or is one of another type.
    """
    group = shard.streams_groups.get(group_id)
    if group is not None:
        return Found(group)
    classic = shard.group(group_id)
    if is_joining and classic is not None and classic.is_empty:
        return Found(StreamsGroup(group_id), [GroupRecord(group_id, None)])
    if shard.group_of_any_type(group_id) is not None:
        raise not_of_type(group_id, TYPE)
    if not is_joining:
        raise GroupIdNotFound(f"Streams group {group_id} not found.")
    return Found(StreamsGroup(group_id))


def known_group(shard: GroupShard, group_id: str) -> StreamsGroup:
    """The group.

    Raises:
        GroupIdNotFound: there is none, or one of another type.
    """
    return group_of_type(shard, shard.streams_groups, group_id, TYPE)


def known_member(group: StreamsGroup, member_id: str) -> StreamsMember:
    """The member with this id.

    Raises:
        UnknownMemberId: there is none.
    """
    member = group.members.get(member_id)
    if member is None:
        raise unknown_member(group.group_id, member_id)
    return member

"""The timers of a member of a consumer group, by their keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.shard import GroupShard

Key = tuple[str, str, str]
_KINDS = ("session", "revocation", "join", "sync")


def session_key(group_id: str, member_id: str) -> Key:
    """It was not heard of."""
    return "session", group_id, member_id


def revocation_key(group_id: str, member_id: str) -> Key:
    """It has partitions to give up."""
    return "revocation", group_id, member_id


def join_key(group_id: str, member_id: str) -> Key:
    """One of the classic protocol was told to join again."""
    return "join", group_id, member_id


def sync_key(group_id: str, member_id: str) -> Key:
    """One of the classic protocol has to ask for its assignment."""
    return "sync", group_id, member_id


def forget(shard: GroupShard, group_id: str, member_id: str) -> None:
    """Wait for a member no more: it is gone."""
    for kind in _KINDS:
        shard.timers.cancel((kind, group_id, member_id))

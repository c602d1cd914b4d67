"""May this one commit, or fetch, the offsets of a consumer group now?

A member commits for what it has, or has yet to give up. It may be of an epoch before:
while the group has moved on it has read what was its own since then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.errors import (
    IllegalGeneration,
    KafkaError,
    StaleMemberEpoch,
    UnsupportedVersion,
)

from .finding import known_member

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.broker.coordinator.group.state.consumer.member import ConsumerMember
    from odradek.broker.coordinator.group.state.shard import GroupShard

FIRST_VERSION_WITH_MEMBER_EPOCH = 9


def check_commit(
    shard: GroupShard,
    group_id: str,
    member_id: str,
    epoch: int,
    places: Iterable[tuple[bytes, int]],
    api_version: int | None = None,
) -> None:
    """See that a member may commit for these partitions, by the ids of their topics.

    A group without members believes everybody who names no epoch. Without
    ``api_version`` the commit is part of a transaction.

    Raises:
        UnknownMemberId, StaleMemberEpoch, IllegalGeneration, UnsupportedVersion.
    """
    group = shard.consumer_groups[group_id]
    if epoch < 0 and group.is_empty:
        return
    member = known_member(group, member_id)
    is_old = api_version is not None and api_version < FIRST_VERSION_WITH_MEMBER_EPOCH
    if is_old and not member.is_classic:
        raise UnsupportedVersion
    holding = member.holding
    if epoch == holding.epoch:
        return
    if epoch > holding.epoch or not all(
        _has_since(member, topic_id, partition) <= epoch
        for topic_id, partition in places
    ):
        stale = _stale(member, epoch)
        # TxnOffsetCommit does not know the other one.
        raise IllegalGeneration(str(stale)) if api_version is None else stale


def check_fetch(
    shard: GroupShard, group_id: str, member_id: str | None, epoch: int
) -> None:
    """See that who fetches offsets as a member is one, in its epoch.

    Raises:
        UnknownMemberId, StaleMemberEpoch, IllegalGeneration.
    """
    if member_id is None and epoch < 0:
        return
    member = known_member(shard.consumer_groups[group_id], member_id or "")
    if epoch != member.holding.epoch:
        raise _stale(member, epoch)


_NEVER = 1 << 31


def _has_since(member: ConsumerMember, topic_id: bytes, partition: int) -> int:
    """The assignment epoch since which the member has a partition."""
    for held in (member.holding.assigned, member.holding.pending):
        since = held.get(topic_id, {}).get(partition)
        if since is not None:
            return since
    return _NEVER


def _stale(member: ConsumerMember, epoch: int) -> KafkaError:
    error = IllegalGeneration if member.is_classic else StaleMemberEpoch
    return error(
        f"The received member epoch {epoch} does not match the expected member epoch "
        f"{member.holding.epoch}."
    )

"""May this one commit, or fetch, the offsets of a streams group now?

A member of the present epoch commits for what it likes. One of an epoch before has read
what was its own since then: the tasks that it has, or has yet to give up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.errors import (
    IllegalGeneration,
    StaleMemberEpoch,
    UnsupportedVersion,
)

from .finding import known_member

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.streams.group import StreamsGroup
    from odradek.broker.coordinator.group.state.streams.member import StreamsMember

FIRST_VERSION_WITH_MEMBER_EPOCH = 9


def check_commit(
    shard: GroupShard,
    group_id: str,
    member_id: str,
    epoch: int,
    places: Iterable[tuple[str, int]],
    api_version: int | None = None,
) -> None:
    """See that a member may commit for these partitions, by the names of their topics.

    A group without members believes everybody who names no epoch. Without
    ``api_version`` the commit is part of a transaction.

    Raises:
        UnknownMemberId, StaleMemberEpoch, IllegalGeneration, UnsupportedVersion.
    """
    group = shard.streams_groups[group_id]
    if epoch < 0 and group.is_empty:
        return
    member = known_member(group, member_id)
    if api_version is not None and api_version < FIRST_VERSION_WITH_MEMBER_EPOCH:
        raise UnsupportedVersion
    if epoch == member.holding.epoch:
        return
    why = _why_stale(group, member, epoch, places)
    if why is not None:
        # TxnOffsetCommit does not know the first one.
        raise (
            StaleMemberEpoch(why)
            if api_version is not None
            else (IllegalGeneration(why))
        )


def _why_stale(
    group: StreamsGroup,
    member: StreamsMember,
    epoch: int,
    places: Iterable[tuple[str, int]],
) -> str | None:
    known = member.holding.epoch
    if epoch > known:
        return (
            f"Received member epoch {epoch} is newer than current member epoch {known}."
        )
    if group.topology is None:
        return "Topology is not available for offset commit validation."
    for topic, partition in places:
        subtopology_id = group.topology.subtopology_of.get(topic)
        if subtopology_id is None:
            return f"Topic {topic} is not in the topology."
        since = _since(member, subtopology_id, partition)
        task = f"{subtopology_id}-{partition}"
        if since is None:
            return f"Task {task} is not assigned or pending revocation for member."
        if epoch < since:
            return (
                f"Received member epoch {epoch} is older than assignment epoch {since} "
                f"for task {task}."
            )
    return None


def _since(member: StreamsMember, subtopology_id: str, partition: int) -> int | None:
    """The assignment epoch since which the member works on a task."""
    for held in (member.holding.assigned, member.holding.pending):
        since = held.active.get(subtopology_id, {}).get(partition)
        if since is not None:
            return since
    return None


def check_fetch(
    shard: GroupShard, group_id: str, member_id: str | None, epoch: int
) -> None:
    """See that who fetches offsets as a member is one, in its epoch.

    Raises:
        UnknownMemberId, StaleMemberEpoch.
    """
    if member_id is None and epoch < 0:
        return
    member = known_member(shard.streams_groups[group_id], member_id or "")
    if epoch != member.holding.epoch:
        raise StaleMemberEpoch(
            f"The received member epoch {epoch} does not match the expected member "
            f"epoch {member.holding.epoch}."
        )

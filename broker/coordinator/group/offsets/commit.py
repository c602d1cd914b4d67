"""OffsetCommit: a group remembers where it is.

A group without members takes commits of anybody who names no generation (a *simple*
group); one with members takes those of its members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.classic.rebalance import (
    renew_session,
    session_key,
)
from odradek.broker.coordinator.group.classic.validation import (
    check_generation,
    check_member,
)
from odradek.broker.coordinator.group.state.classic_states import ClassicState
from odradek.broker.coordinator.group.state.records import (
    NO_EXPIRY,
    CommittedOffset,
    OffsetRecord,
)
from odradek.protocol.errors import (
    CoordinatorNotAvailable,
    ErrorCode,
    GroupIdNotFound,
    IllegalGeneration,
    RebalanceInProgress,
    UnknownMemberId,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from odradek.broker.coordinator.group.state.classic_group import ClassicGroup
    from odradek.broker.coordinator.group.state.shard import GroupShard

NO_GENERATION = -1
_RENEWING = (ClassicState.STABLE, ClassicState.PREPARING_REBALANCE)
NO_MEMBER_ID = ""
FIRST_VERSION_WITH_GROUP_ID_NOT_FOUND = 9


class Committer(NamedTuple):
    """Who commits: a member of a generation, or nobody in particular."""

    group_id: str
    generation_id: int = NO_GENERATION
    member_id: str = NO_MEMBER_ID
    group_instance_id: str | None = None

    @property
    def is_member(self) -> bool:
        """Whether it says to be a member."""
        return (
            self.generation_id >= 0
            or self.member_id != NO_MEMBER_ID
            or self.group_instance_id is not None
        )


class WantedOffset(NamedTuple):
    """An offset to commit, of a partition that is known."""

    topic: str
    partition: int
    offset: int
    leader_epoch: int
    metadata: str
    topic_id: bytes


def decide_commit(
    shard: GroupShard,
    committer: Committer,
    wanted: Sequence[WantedOffset],
    api_version: int,
    retention_ms: int,
    answer: Callable[[list[int]], Any],
) -> Decision:
    """Commit; ``answer`` makes the response of one error code for each offset.

    ``retention_ms`` of -1 leaves it to ``offsets.retention.minutes``.

    Raises:
        UnknownMemberId, FencedInstanceId, IllegalGeneration, RebalanceInProgress,
        GroupIdNotFound, CoordinatorNotAvailable; of a consumer group or a streams
        group StaleMemberEpoch, UnsupportedVersion.
    """
    group = check_may_commit(shard, committer, wanted, api_version)
    if group is not None:
        renew(shard, group, committer)
    now_ms = shard.clock.now_ms()
    expires_ms = NO_EXPIRY if retention_ms < 0 else now_ms + retention_ms
    codes, records = offset_records(shard, committer.group_id, wanted, expires_ms)
    return Decision(answer(codes), records)


def check_may_commit(
    shard: GroupShard,
    committer: Committer,
    wanted: Sequence[WantedOffset],
    api_version: int,
) -> ClassicGroup | None:
    """See that this one may commit now. Its group, if that is a classic one."""
    group_id, generation_id, member_id, group_instance_id = committer
    group = shard.groups.get(group_id)
    if group is not None:
        if (  # else it is a member of a steady group, as most are
            group.state is not ClassicState.STABLE
            or member_id not in group.members
            or generation_id != group.generation_id
            or group_instance_id is not None
        ):
            check_committer(group, committer)
    elif has_assigned_group(shard, group_id):
        check_assigned(shard, committer, wanted, api_version)
    elif generation_id >= 0:
        if api_version >= FIRST_VERSION_WITH_GROUP_ID_NOT_FOUND:
            raise GroupIdNotFound
        raise IllegalGeneration
    return group


def offset_records(
    shard: GroupShard,
    group_id: str,
    wanted: Sequence[WantedOffset],
    expires_ms: int = NO_EXPIRY,
) -> tuple[list[int], list[OffsetRecord]]:
    """An error code for each offset, and the records of those without an error."""
    now_ms = shard.clock.now_ms()
    size_max = shard.config.offset_metadata_max_bytes
    codes: list[int] = []
    records: list[OffsetRecord] = []
    for each in wanted:
        if each.metadata and utf16_length(each.metadata) > size_max:
            codes.append(ErrorCode.OFFSET_METADATA_TOO_LARGE)
            continue
        codes.append(ErrorCode.NONE)
        committed = CommittedOffset(
            each.offset,
            each.leader_epoch,
            each.metadata,
            now_ms,
            expires_ms,
            each.topic_id,
        )
        records.append(OffsetRecord(group_id, each.topic, each.partition, committed))
    return codes, records


def utf16_length(text: str) -> int:
    """What Apache Kafka counts against ``offset.metadata.max.bytes``."""
    return len(text) + sum(character > "\uffff" for character in text)


def check_committer(group: ClassicGroup, committer: Committer) -> None:
    """See that this one may commit for the group now."""
    check_membership(group, committer)
    state = group.state
    if state is ClassicState.EMPTY:
        return
    if not committer.is_member:
        raise UnknownMemberId
    if state is ClassicState.COMPLETING_REBALANCE:
        raise RebalanceInProgress


def check_membership(group: ClassicGroup, committer: Committer) -> None:
    """See that who says to be a member is one, and of this generation.

    A group without members believes everybody who names no generation.
    """
    state = group.state
    if state is ClassicState.DEAD:
        raise CoordinatorNotAvailable
    if committer.generation_id < 0 and state is ClassicState.EMPTY:
        return
    if committer.is_member:
        check_member(group, committer.member_id, committer.group_instance_id)
        check_generation(group, committer.generation_id)


def has_assigned_group(shard: GroupShard, group_id: str) -> bool:
    """Whether the broker assigns what the members of this group do."""
    return (
        group_id in shard.consumer_groups
        or group_id in shard.streams_groups
        or group_id in shard.share_groups
    )


def check_assigned(
    shard: GroupShard,
    committer: Committer,
    wanted: Sequence[WantedOffset],
    api_version: int | None = None,
) -> None:
    """See that this one may commit for such a group now.

    Without ``api_version`` it commits in a transaction; then it need be no member.

    Raises:
        GroupIdNotFound: it is a share group, which has no offsets.
        UnknownMemberId, StaleMemberEpoch, IllegalGeneration, UnsupportedVersion.
    """
    group_id, epoch, member_id, _ = committer
    if group_id in shard.share_groups:
        raise GroupIdNotFound
    if api_version is None and not committer.is_member:
        return
    if group_id in shard.streams_groups:
        from odradek.broker.coordinator.group.streams.offsets import (
            check_commit as check_streams,
        )

        inputs = [(each.topic, each.partition) for each in wanted]
        check_streams(shard, group_id, member_id, epoch, inputs, api_version)
        return
    from odradek.broker.coordinator.group.consumer.offsets import check_commit

    places = [(each.topic_id, each.partition) for each in wanted]
    check_commit(shard, group_id, member_id, epoch, places, api_version)


def renew(shard: GroupShard, group: ClassicGroup, committer: Committer) -> None:
    """A member that commits is alive."""
    member = group.members.get(committer.member_id)
    if member is None or group.state not in _RENEWING:
        return
    key = session_key(committer.group_id, committer.member_id)
    if not shard.timers.put_off(key, member.session_timeout_ms):
        renew_session(shard, group, member)

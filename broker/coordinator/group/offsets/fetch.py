"""OffsetFetch: where a group is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.state.records import CommittedOffset
from odradek.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from odradek.broker.coordinator.group.state.shard import GroupShard

NO_OFFSET = -1
NOTHING_COMMITTED = CommittedOffset(NO_OFFSET)


class Fetcher(NamedTuple):
    """For which group offsets are fetched; and by which of its members, if by one."""

    group_id: str
    member_id: str | None = None
    member_epoch: int = -1


class FetchedOffset(NamedTuple):
    """What is known of one partition; -1 for what is not."""

    topic: str
    partition: int
    committed: CommittedOffset
    error_code: int = ErrorCode.NONE


def decide_fetch(
    shard: GroupShard,
    fetcher: Fetcher,
    wanted: Iterable[tuple[str, int]] | None,
    require_stable: bool,
    answer: Callable[[list[FetchedOffset]], Any],
) -> Decision:
    """Say where a group is, in these partitions or in all that it has committed.

    ``require_stable`` refuses those that an open transaction would move. An unknown
    group has committed nothing, which is no error.

    Raises:
        UnknownMemberId, StaleMemberEpoch, IllegalGeneration: of a consumer group or
            a streams group, who fetches as a member is none, or is in another epoch.
    """
    group_id = fetcher.group_id
    if group_id in shard.consumer_groups:
        from odradek.broker.coordinator.group.consumer.offsets import check_fetch

        check_fetch(shard, *fetcher)
    elif group_id in shard.streams_groups:
        from odradek.broker.coordinator.group.streams.offsets import (
            check_fetch as check_streams,
        )

        check_streams(shard, *fetcher)
    offsets = shard.offsets
    if wanted is None:  # what is only pending is not there yet
        wanted = offsets.of_group(group_id)
    found = []
    for topic, partition in wanted:
        if require_stable and offsets.is_pending(group_id, topic, partition):
            code = ErrorCode.UNSTABLE_OFFSET_COMMIT
            found.append(FetchedOffset(topic, partition, NOTHING_COMMITTED, code))
            continue
        committed = offsets.get(group_id, topic, partition) or NOTHING_COMMITTED
        found.append(FetchedOffset(topic, partition, committed))
    return Decision(answer(found), reads_state=True)

"""How long a member of a streams group may be silent, or hold on to what it had.

A session goes on with each heartbeat. A member that is asked to give tasks up has its
rebalance timeout (max.poll.interval.ms) for it, however often it is heard.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.consumer.timer_keys import (
    forget,
    revocation_key,
    session_key,
)
from odradek.broker.coordinator.group.state.streams.member import TaskState

from .draft import StreamsDraft
from .settings import session_timeout_ms

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.streams.group import StreamsGroup
    from odradek.broker.coordinator.group.state.streams.member import (
        StreamsHolding,
        StreamsMemberInfo,
    )

_logger = logging.getLogger(__name__)


def keep_session(
    shard: GroupShard, group_id: str, member_id: str, in_ms: int = 0
) -> None:
    """Let a member's session last as if it began in ``in_ms``."""
    timeout_ms = session_timeout_ms(shard, group_id)
    what = f"was not heard of for its session timeout of {timeout_ms} ms"
    shard.timers.start(
        session_key(group_id, member_id),
        in_ms + timeout_ms,
        partial(_expire, shard, group_id, member_id, what),
    )


def await_revocation(
    shard: GroupShard,
    group_id: str,
    member_id: str,
    info: StreamsMemberInfo,
    holding: StreamsHolding,
) -> None:
    """Wait for a member to give up what it has to; or no more, when it need not."""
    key = revocation_key(group_id, member_id)
    if holding.state != TaskState.UNREVOKED:
        shard.timers.cancel(key)
        return
    timeout_ms = max(0, info.rebalance_timeout_ms)
    shard.timers.start(
        key,
        timeout_ms,
        partial(
            _expire_revocation, shard, group_id, member_id, holding.epoch, timeout_ms
        ),
    )


def resume(shard: GroupShard) -> None:
    """After loading: every session begins anew, and every wait for tasks."""
    for group in shard.streams_groups.values():
        for member_id, member in group.members.items():
            keep_session(shard, group.group_id, member_id)
            await_revocation(
                shard, group.group_id, member_id, member.info, member.holding
            )


def remove_member(shard: GroupShard, group: StreamsGroup, member_id: str) -> Decision:
    """Let a member go: the others get what it had."""
    draft = StreamsDraft(shard, group)
    draft.remove(member_id)
    draft.bump()
    forget(shard, group.group_id, member_id)
    return Decision(records=draft.records)


def tell(group_id: str, epoch: int, what: str) -> None:
    """What happens to a group, in its log line."""
    _logger.info("streams group %s, epoch %d: %s", group_id, epoch, what)


def _expire_revocation(
    shard: GroupShard, group_id: str, member_id: str, epoch: int, timeout_ms: int
) -> Decision | None:
    group = shard.streams_groups.get(group_id)
    member = None if group is None else group.members.get(member_id)
    if member is None or member.holding.epoch != epoch:
        return None
    what = (
        f"has not given up its tasks within the rebalance timeout of {timeout_ms} ms "
        "(max.poll.interval.ms)"
    )
    return _expire(shard, group_id, member_id, what)


def _expire(
    shard: GroupShard, group_id: str, member_id: str, what: str
) -> Decision | None:
    """Remove a member whose time is over; if that cannot be written, try again."""
    group = shard.streams_groups.get(group_id)
    if group is None or member_id not in group.members:
        return None
    tell(group_id, group.epoch, f"{member_id} {what}, and is removed")
    decision = remove_member(shard, group, member_id)
    decision.undo = lambda _: keep_session(shard, group_id, member_id)
    return decision

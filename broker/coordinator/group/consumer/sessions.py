"""How long a member of a consumer group may be silent, or hold on to what it had.

A session goes on with each heartbeat. A member that is asked to give partitions up has
its rebalance timeout (max.poll.interval.ms) for it, however often it is heard. One of
the classic protocol has as long to join again when it is told to, and to ask for its
assignment behind that.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.state.consumer.member import HoldingState

from .fencing import fence, tell
from .settings import session_timeout_ms
from .timer_keys import join_key, revocation_key, session_key, sync_key

if TYPE_CHECKING:
    from odradek.broker.coordinator.decision import Decision
    from odradek.broker.coordinator.group.state.consumer.group import ConsumerGroup
    from odradek.broker.coordinator.group.state.consumer.member import (
        Holding,
        MemberInfo,
    )
    from odradek.broker.coordinator.group.state.shard import GroupShard


def renew_session(
    shard: GroupShard, group_id: str, member_id: str, info: MemberInfo
) -> None:
    """Let a member's session last from now on."""
    keep_session(shard, group_id, member_id, info, 0)


def keep_session(
    shard: GroupShard, group_id: str, member_id: str, info: MemberInfo, in_ms: int
) -> None:
    """Let a member's session last as if it began in ``in_ms``."""
    if info.classic is None:
        timeout_ms = session_timeout_ms(shard, group_id)
    else:
        timeout_ms = info.classic.session_timeout_ms
    shard.timers.start(
        session_key(group_id, member_id),
        in_ms + timeout_ms,
        partial(_expire_session, shard, group_id, member_id, timeout_ms),
    )


def await_revocation(
    shard: GroupShard, group_id: str, member_id: str, info: MemberInfo, holding: Holding
) -> None:
    """Wait for a member to give up what it has to; or no more, when it need not.

    One of the classic protocol is waited for until it joins again (`await_join`).
    """
    key = revocation_key(group_id, member_id)
    if holding.state != HoldingState.UNREVOKED or info.classic is not None:
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


def await_join(
    shard: GroupShard, group_id: str, member_id: str, info: MemberInfo
) -> None:
    """Wait for a member of the classic protocol to join again, from now on at most."""
    key = join_key(group_id, member_id)
    if key not in shard.timers:
        timeout_ms = max(0, info.rebalance_timeout_ms)
        what = f"has not joined again within its rebalance timeout of {timeout_ms} ms"
        expire = partial(_expire, shard, group_id, member_id, what)
        shard.timers.start(key, timeout_ms, expire)


def await_sync(
    shard: GroupShard, group_id: str, member_id: str, info: MemberInfo
) -> None:
    """It has joined: wait for it to ask for its assignment."""
    shard.timers.cancel(join_key(group_id, member_id))
    timeout_ms = max(0, info.rebalance_timeout_ms)
    what = (
        f"did not ask for an assignment within its rebalance timeout of {timeout_ms} ms"
    )
    expire = partial(_expire, shard, group_id, member_id, what)
    shard.timers.start(sync_key(group_id, member_id), timeout_ms, expire)


def note_sync(shard: GroupShard, group_id: str, member_id: str) -> None:
    """It has asked for its assignment."""
    shard.timers.cancel(sync_key(group_id, member_id))


def resume(shard: GroupShard) -> None:
    """After loading: every session begins anew, and every wait for partitions."""
    for group in shard.consumer_groups.values():
        for member_id, member in group.members.items():
            info = member.info
            renew_session(shard, group.group_id, member_id, info)
            await_revocation(shard, group.group_id, member_id, info, member.holding)


def _expire_session(
    shard: GroupShard, group_id: str, member_id: str, timeout_ms: int
) -> Decision | None:
    what = f"was not heard of for its session timeout of {timeout_ms} ms"
    return _expire(shard, group_id, member_id, what)


def _expire_revocation(
    shard: GroupShard, group_id: str, member_id: str, epoch: int, timeout_ms: int
) -> Decision | None:
    group = shard.consumer_groups.get(group_id)
    member = None if group is None else group.members.get(member_id)
    if member is None or member.holding.epoch != epoch:
        return None
    what = (
        f"has not given up its partitions within the rebalance timeout of {timeout_ms} "
        "ms (max.poll.interval.ms)"
    )
    return _expire(shard, group_id, member_id, what)


def _expire(
    shard: GroupShard, group_id: str, member_id: str, what: str
) -> Decision | None:
    """Remove a member whose time is over; if that cannot be written, try again."""
    group: ConsumerGroup | None = shard.consumer_groups.get(group_id)
    member = None if group is None else group.members.get(member_id)
    if group is None or member is None:
        return None
    tell(group_id, group.epoch, f"{member.label} {what}, and is removed")
    info, decision = member.info, fence(shard, group, member_id)
    decision.undo = lambda _: renew_session(shard, group_id, member_id, info)
    return decision

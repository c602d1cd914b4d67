"""How long a member of a consumer group may be silent, or hold on to what it had.

A session goes on with each heartbeat. A member that is asked to give partitions up has
its rebalance timeout (max.poll.interval.ms) for it, however often it is heard.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.state.consumer.member import HoldingState

from .draft import Draft
from .patterns import forget_unused
from .settings import session_timeout_ms

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.consumer.group import ConsumerGroup
    from odradek.broker.coordinator.group.state.consumer.member import (
        Holding,
        MemberInfo,
    )
    from odradek.broker.coordinator.group.state.shard import GroupShard

_logger = logging.getLogger(__name__)


def renew_session(shard: GroupShard, group_id: str, member_id: str) -> None:
    """Let a member's session last from now on."""
    timeout_ms = session_timeout_ms(shard, group_id)
    shard.timers.start(
        _session_key(group_id, member_id),
        timeout_ms,
        partial(_expire_session, shard, group_id, member_id, timeout_ms),
    )


def keep_session(shard: GroupShard, group_id: str, member_id: str, in_ms: int) -> None:
    """Let a member's session last as if it began in ``in_ms``."""
    timeout_ms = session_timeout_ms(shard, group_id)
    shard.timers.start(
        _session_key(group_id, member_id),
        in_ms + timeout_ms,
        partial(_expire_session, shard, group_id, member_id, timeout_ms),
    )


def await_revocation(
    shard: GroupShard, group_id: str, member_id: str, info: MemberInfo, holding: Holding
) -> None:
    """Wait for a member to give up what it has to; or no more, when it need not."""
    key = _revocation_key(group_id, member_id)
    if holding.state != HoldingState.UNREVOKED:
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


def forget(shard: GroupShard, group_id: str, member_id: str) -> None:
    """Wait for a member no more: it is gone."""
    shard.timers.cancel(_session_key(group_id, member_id))
    shard.timers.cancel(_revocation_key(group_id, member_id))


def resume(shard: GroupShard) -> None:
    """After loading: every session begins anew, and every wait for partitions."""
    for group in shard.consumer_groups.values():
        for member_id, member in group.members.items():
            renew_session(shard, group.group_id, member_id)
            await_revocation(
                shard, group.group_id, member_id, member.info, member.holding
            )


def fence(shard: GroupShard, group: ConsumerGroup, *member_ids: str) -> Decision:
    """Let members go, and others have what was theirs."""
    draft = Draft(shard, group)
    for member_id in member_ids:
        draft.remove(member_id)
        forget(shard, group.group_id, member_id)
    forget_unused(draft)
    draft.bump()
    return Decision(records=draft.records)


def tell(group_id: str, epoch: int, what: str) -> None:
    """What happens to a group, in its log line."""
    _logger.info("group %s, epoch %d: %s", group_id, epoch, what)


def _expire_session(
    shard: GroupShard, group_id: str, member_id: str, timeout_ms: int
) -> Decision | None:
    group = shard.consumer_groups.get(group_id)
    member = None if group is None else group.members.get(member_id)
    if group is None or member is None:
        return None
    tell(
        group_id,
        group.epoch,
        f"{member.label} was not heard of for its session timeout of {timeout_ms} ms, "
        "and is removed",
    )
    return _fence_in_time(shard, group, member_id)


def _expire_revocation(
    shard: GroupShard, group_id: str, member_id: str, epoch: int, timeout_ms: int
) -> Decision | None:
    group = shard.consumer_groups.get(group_id)
    member = None if group is None else group.members.get(member_id)
    if group is None or member is None or member.holding.epoch != epoch:
        return None
    tell(
        group_id,
        group.epoch,
        f"{member.label} has not given up its partitions within the rebalance timeout "
        f"of {timeout_ms} ms (max.poll.interval.ms), and is removed",
    )
    return _fence_in_time(shard, group, member_id)


def _fence_in_time(shard: GroupShard, group: ConsumerGroup, member_id: str) -> Decision:
    """Remove a member whose time is over; if that cannot be written, try again."""
    decision = fence(shard, group, member_id)
    decision.undo = lambda _: renew_session(shard, group.group_id, member_id)
    return decision


def _session_key(group_id: str, member_id: str) -> tuple[str, str, str]:
    return "session", group_id, member_id


def _revocation_key(group_id: str, member_id: str) -> tuple[str, str, str]:
    return "revocation", group_id, member_id

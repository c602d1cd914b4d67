"""How long a member of a share group may be silent; and how it goes.

Others go on with what it was given: that is released when its connection is closed, or
when the locks are over.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.consumer.timer_keys import session_key

from .draft import ShareDraft
from .settings import session_timeout_ms

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.share.group import ShareGroup

_logger = logging.getLogger(__name__)


def keep_session(
    shard: GroupShard, group_id: str, member_id: str, in_ms: int = 0
) -> None:
    """Let a member's session last as if it began in ``in_ms``."""
    timeout_ms = session_timeout_ms(shard, group_id)
    shard.timers.start(
        session_key(group_id, member_id),
        in_ms + timeout_ms,
        partial(_expire, shard, group_id, member_id, timeout_ms),
    )


def resume(shard: GroupShard) -> None:
    """After loading: every session begins anew."""
    for group in shard.share_groups.values():
        for member_id in group.members:
            keep_session(shard, group.group_id, member_id)


def remove_member(shard: GroupShard, group: ShareGroup, member_id: str) -> Decision:
    """Let a member go: the others get what it had."""
    draft = ShareDraft(shard, group)
    draft.remove(member_id)
    draft.bump()
    shard.timers.cancel(session_key(group.group_id, member_id))
    return Decision(records=draft.records)


def tell(group_id: str, epoch: int, what: str) -> None:
    """What happens to a group, in its log line."""
    _logger.info("share group %s, epoch %d: %s", group_id, epoch, what)


def _expire(
    shard: GroupShard, group_id: str, member_id: str, timeout_ms: int
) -> Decision | None:
    """Remove a member whose time is over; if that cannot be written, try again."""
    group = shard.share_groups.get(group_id)
    if group is None or member_id not in group.members:
        return None
    what = (
        f"{member_id} was not heard of for its session timeout of {timeout_ms} ms, and "
        "is removed"
    )
    tell(group_id, group.epoch, what)
    decision = remove_member(shard, group, member_id)
    decision.undo = lambda _: keep_session(shard, group_id, member_id)
    return decision

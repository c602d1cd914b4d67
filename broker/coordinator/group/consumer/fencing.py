"""Members are removed from a consumer group, and others have what was theirs."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision

from .draft import Draft
from .targets.patterns import forget_unused
from .timer_keys import forget

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.consumer.group import ConsumerGroup
    from odradek.broker.coordinator.group.state.shard import GroupShard

_logger = logging.getLogger(__name__)


def fence(shard: GroupShard, group: ConsumerGroup, *member_ids: str) -> Decision:
    """Let members go. Those of the classic protocol who are left alone go on by it."""
    if any(each.is_classic for each in group.members.values()):
        from .migration.downgrade import becomes_classic, decide_downgrade

        if becomes_classic(shard, group, member_ids):
            reason = "the last member of the consumer protocol is gone"
            infos = {
                member_id: member.info
                for member_id, member in group.members.items()
                if member_id not in member_ids
            }
            return decide_downgrade(shard, group, infos, reason)
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

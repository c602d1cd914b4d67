"""The target of a group: which member shall have which tasks in its present epoch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.state.consumer.records import TargetEpoch
from odradek.broker.coordinator.group.state.streams import records
from odradek.broker.coordinator.group.state.streams.tasks import NO_TASKS
from odradek.broker.coordinator.group.streams.draft import StreamsDraft
from odradek.broker.coordinator.group.streams.settings import (
    assignment_interval_ms,
    initial_delay_ms,
    standbys_of,
)
from odradek.protocol.errors import StreamsInvalidTopology

from .assignor import TaskOwner, assign_sticky

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.streams.configured import (
        ConfiguredTopology,
    )
    from odradek.broker.coordinator.group.state.streams.tasks import Tasks


class Delay(NamedTuple):
    """Why the epoch has no target yet, and in how long it will have one."""

    ms: int
    cause: str
    is_initial: bool = False


def delay_key(group_id: str) -> tuple[str, str]:
    """Of the timer of a group that waits for more than its first member."""
    return "initial rebalance", group_id


def begin_delay(shard: GroupShard, draft: StreamsDraft) -> None:
    """Let a group without members wait for more than the one that joins now."""
    group_id = draft.group.group_id
    delay_ms, key = initial_delay_ms(shard, group_id), delay_key(group_id)
    if draft.group.is_empty and delay_ms and key not in shard.timers:
        shard.timers.start(key, delay_ms, partial(_end_delay, shard, group_id))


def assign(
    shard: GroupShard, draft: StreamsDraft, configured: ConfiguredTopology
) -> Delay | None:
    """Find a target for the group's epoch, unless it is too soon; then say so.

    Until a later heartbeat finds it the old one holds.
    """
    group, now_ms = draft.group, shard.clock.now_ms()
    left_ms = shard.timers.left_ms(delay_key(group.group_id))
    if left_ms is not None:
        return Delay(left_ms, "initial rebalance delay", is_initial=True)
    if draft.epoch <= draft.assignment_epoch:
        return None
    passed_ms = now_ms - group.assignment_time_ms
    interval_ms = assignment_interval_ms(shard, group.group_id)
    # A clock that was set back must not keep the group waiting.
    if group.assignment_time_ms >= 0 and 0 <= passed_ms < interval_ms:
        return Delay(interval_ms - passed_ms, "assignment interval")
    for member_id, target in _targets(draft, configured).items():
        if member_id not in group.targets or target != draft.target_of(member_id):
            draft.put(records.TARGET_KEY, member_id, target)
        draft.targets[member_id] = target
    draft.assignment_epoch = draft.epoch
    value = TargetEpoch(draft.epoch, now_ms)
    draft.put(records.TARGET_EPOCH_KEY, value=value)
    return None


def _targets(draft: StreamsDraft, configured: ConfiguredTopology) -> dict[str, Tasks]:
    owners = [
        TaskOwner(member_id, info.process_id, draft.target_of(member_id))
        for member_id, info in draft.infos()
    ]
    if configured.problem is not None or configured.subtopologies is None:
        return {each.member_id: NO_TASKS for each in owners}
    return assign_sticky(owners, configured.subtopologies, standbys_of(draft.configs))


def _end_delay(shard: GroupShard, group_id: str) -> Decision | None:
    """The members that have joined meanwhile share the tasks."""
    group = shard.streams_groups.get(group_id)
    if group is None or group.is_empty or group.topology is None:
        return None
    draft = StreamsDraft(shard, group)
    try:
        configured = draft.look_at_topics()
    except StreamsInvalidTopology:
        return None  # the next heartbeat is told
    draft.bump_if_other(has_other_members=False)
    assign(shard, draft, configured)
    return Decision(records=draft.records)

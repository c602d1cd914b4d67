"""Replay of the records of share groups: the only way in which these change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.coordinator.group.state.consumer.group import NO_TIME
from odradek.broker.coordinator.group.state.consumer.member import LEFT_EPOCH

from . import records
from .group import ShareGroup
from .member import ShareHolding
from .states import NO_STATES

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.consumer.records import GroupEpoch

    from .records import ShareRecord

_LEFT = ShareHolding(LEFT_EPOCH, LEFT_EPOCH)


def replay_share(
    groups: dict[str, ShareGroup], record: ShareRecord
) -> ShareGroup | None:
    """Apply a record; the group that it is of. None: there is none, and was none.

    After compaction a group's first record may be of any kind.
    """
    key, group_id, name, value = record
    group = groups.get(group_id)
    if group is None:
        if value is None:
            return None
        group = groups[group_id] = ShareGroup(group_id)
    if key == records.EPOCH_KEY:
        _replay_epoch(groups, group, value)
    elif key == records.TARGET_EPOCH_KEY:
        group.assignment_epoch, group.assignment_time_ms = value or (0, NO_TIME)
    elif key == records.STATES_KEY:
        group.states = value or NO_STATES
    else:
        _replay_of_member(group, key, name, value)
    return group


def _replay_of_member(group: ShareGroup, key: int, name: str, value: Any) -> None:
    if key == records.MEMBER_KEY:
        if value is None:
            group.remove(name)
        else:
            group.put_info(name, value)
    elif key == records.HOLDING_KEY:
        if value is not None or name in group.members:
            group.put_holding(name, value or _LEFT)
    elif value is None:
        group.targets.pop(name, None)
    else:
        group.targets[name] = value


def _replay_epoch(
    groups: dict[str, ShareGroup], group: ShareGroup, value: GroupEpoch | None
) -> None:
    if value is None:
        del groups[group.group_id]
        group.is_gone = True
        return
    group.epoch, group.metadata_hash = value

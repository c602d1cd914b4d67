"""Replay of the records of consumer groups: the only way in which these change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import records
from .group import ConsumerGroup
from .member import LEFT_EPOCH, Holding

if TYPE_CHECKING:
    from .records import ConsumerRecord

_LEFT = Holding(LEFT_EPOCH, LEFT_EPOCH)


def replay_consumer(
    groups: dict[str, ConsumerGroup], record: ConsumerRecord
) -> ConsumerGroup | None:
    """Apply a record; the group that it is of. None: there is none, and was none.

    After compaction a group's first record may be of any kind.
    """
    key, group_id, name, value = record
    group = groups.get(group_id)
    if group is None:
        if value is None:
            return None
        group = groups[group_id] = ConsumerGroup(group_id)
    if key == records.EPOCH_KEY:
        _replay_epoch(groups, group, value)
    elif key == records.OLD_TOPICS_KEY:
        group.is_described_as_before_41 = value is not None
    elif key == records.TARGET_EPOCH_KEY:
        _replay_target_epoch(group, value)
    elif key == records.MEMBER_KEY:
        if value is None:
            group.remove(name)
        else:
            group.put_info(name, value)
    elif key == records.HOLDING_KEY:
        if value is not None or name in group.members:
            group.put_holding(name, _LEFT if value is None else value)
    else:
        of = group.targets if key == records.TARGET_KEY else group.patterns
        _put(of, name, value)
    return group


def _replay_epoch(
    groups: dict[str, ConsumerGroup],
    group: ConsumerGroup,
    value: records.GroupEpoch | None,
) -> None:
    if value is None:
        del groups[group.group_id]
        group.is_gone = True
        return
    group.epoch, group.metadata_hash = value


def _replay_target_epoch(
    group: ConsumerGroup, value: records.TargetEpoch | None
) -> None:
    group.assignment_epoch, group.assignment_time_ms = value or (0, -1)


def _put(of: dict[str, Any], name: str, value: Any) -> None:
    if value is None:
        of.pop(name, None)
    else:
        of[name] = value

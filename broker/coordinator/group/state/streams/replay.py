"""Replay of the records of streams groups: the only way in which these change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.coordinator.group.state.consumer.group import NO_TIME
from odradek.broker.coordinator.group.state.consumer.member import LEFT_EPOCH

from . import records
from .group import StreamsGroup
from .member import StreamsHolding

if TYPE_CHECKING:
    from .records import StreamsEpoch, StreamsRecord

_LEFT = StreamsHolding(LEFT_EPOCH, LEFT_EPOCH)
_NO_TARGET_EPOCH = -1


def replay_streams(
    groups: dict[str, StreamsGroup], record: StreamsRecord
) -> StreamsGroup | None:
    """Apply a record; the group that it is of. None: there is none, and was none.

    After compaction a group's first record may be of any kind.
    """
    key, group_id, name, value = record
    group = groups.get(group_id)
    if group is None:
        if value is None:
            return None
        group = groups[group_id] = StreamsGroup(group_id)
    if key == records.EPOCH_KEY:
        _replay_epoch(groups, group, value)
    elif key == records.TARGET_EPOCH_KEY:
        group.assignment_epoch, group.assignment_time_ms = value or (
            _NO_TARGET_EPOCH,
            NO_TIME,
        )
    elif key == records.TOPOLOGY_KEY:
        group.topology = value
    else:
        _replay_of_member(group, key, name, value)
    return group


def _replay_of_member(group: StreamsGroup, key: int, name: str, value: Any) -> None:
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
    groups: dict[str, StreamsGroup], group: StreamsGroup, value: StreamsEpoch | None
) -> None:
    if value is None:
        del groups[group.group_id]
        group.is_gone = True
        return
    group.epoch, group.metadata_hash, group.validated_epoch, group.configs = value

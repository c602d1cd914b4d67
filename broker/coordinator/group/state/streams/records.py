"""What is written of streams groups, in Kafka's format, and what it means here.

The layouts are those of `protocol.streams_records`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.coordinator.group.state.consumer.records import TargetEpoch
from odradek.broker.coordinator.group.state.layout import Layout, decoded, encoded
from odradek.protocol.streams_records import (
    STREAMS_RECORDS,
    AssignmentConfig,
    ClientTag,
    CurrentTasks,
    MemberEndpoint,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberValue,
    StreamsGroupTargetAssignmentMetadataValue,
    TargetTasks,
)

from .member import Endpoint, StreamsHolding, StreamsMemberInfo, TaskState
from .tasks import HeldTasks, Tasks
from .topology_record import read_topology, write_topology

if TYPE_CHECKING:
    from odradek.storage.files.files import Buffer

    from .group import AssignmentConfigs
    from .tasks import HeldIds, TaskIds

EPOCH_KEY = 17
MEMBER_KEY = 19
TARGET_EPOCH_KEY = 20
TARGET_KEY = 21
HOLDING_KEY = 22
TOPOLOGY_KEY = 23


class StreamsEpoch(NamedTuple):
    """The epoch of a group, and what its topics and options were like then.

    ``validated_epoch`` is that of the topology, if all of its topics were there.
    """

    epoch: int
    metadata_hash: int
    validated_epoch: int
    configs: AssignmentConfigs


class StreamsRecord(NamedTuple):
    """One record; ``name`` is its member. Without ``value``: it is gone."""

    key: int
    group_id: str
    name: str = ""
    value: Any = None

    def encode(self) -> tuple[bytes, bytes | None]:
        """Key and value as they lie in the log."""
        return encoded(_LAYOUTS, self)


def decode_streams(
    kind: int, key: memoryview, value: Buffer | None
) -> StreamsRecord | None:
    """The record of one of these kinds; ``key`` is what follows that.

    Raises:
        MalformedRequest, struct.error: the bytes are no such record.
    """
    found = decoded(_LAYOUTS, kind, key, value)
    return None if found is None else StreamsRecord(*found)


# What values mean


def _read_epoch(value: StreamsGroupMetadataValue) -> StreamsEpoch:
    configs = value.last_assignment_configs or ()
    return StreamsEpoch(
        value.epoch,
        value.metadata_hash,
        value.validated_topology_epoch,
        tuple(sorted((each.key, each.value) for each in configs)),
    )


def _write_epoch(value: StreamsEpoch) -> StreamsGroupMetadataValue:
    return StreamsGroupMetadataValue(
        epoch=value.epoch,
        metadata_hash=value.metadata_hash,
        validated_topology_epoch=value.validated_epoch,
        last_assignment_configs=[
            AssignmentConfig(key=key, value=text) for key, text in value.configs
        ],
    )


def _read_member(value: StreamsGroupMemberMetadataValue) -> StreamsMemberInfo:
    endpoint = value.user_endpoint
    return StreamsMemberInfo(
        value.instance_id,
        value.rack_id,
        value.client_id,
        value.client_host,
        value.rebalance_timeout_ms,
        value.topology_epoch,
        value.process_id,
        None if endpoint is None else Endpoint(endpoint.host, endpoint.port),
        tuple(sorted((each.key, each.value) for each in value.client_tags)),
    )


def _write_member(value: StreamsMemberInfo) -> StreamsGroupMemberMetadataValue:
    endpoint = value.endpoint
    return StreamsGroupMemberMetadataValue(
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        topology_epoch=value.topology_epoch,
        process_id=value.process_id,
        user_endpoint=None
        if endpoint is None
        else MemberEndpoint(host=endpoint.host, port=endpoint.port),
        client_tags=[ClientTag(key=key, value=text) for key, text in value.client_tags],
    )


def _read_target_epoch(value: StreamsGroupTargetAssignmentMetadataValue) -> TargetEpoch:
    return TargetEpoch(value.assignment_epoch, value.assignment_timestamp)


def _write_target_epoch(
    value: TargetEpoch,
) -> StreamsGroupTargetAssignmentMetadataValue:
    return StreamsGroupTargetAssignmentMetadataValue(
        assignment_epoch=value.epoch, assignment_timestamp=value.time_ms
    )


def _read_target(value: StreamsGroupTargetAssignmentMemberValue) -> Tasks:
    return Tasks(
        _read_ids(value.active_tasks),
        _read_ids(value.standby_tasks),
        _read_ids(value.warmup_tasks),
    )


def _write_target(value: Tasks) -> StreamsGroupTargetAssignmentMemberValue:
    return StreamsGroupTargetAssignmentMemberValue(
        active_tasks=_write_ids(value.active),
        standby_tasks=_write_ids(value.standby),
        warmup_tasks=_write_ids(value.warmup),
    )


def _read_ids(tasks: list[TargetTasks] | list[CurrentTasks]) -> TaskIds:
    return {
        each.subtopology_id: frozenset(each.partitions)
        for each in tasks
        if each.partitions
    }


def _write_ids(ids: TaskIds) -> list[TargetTasks]:
    return [
        TargetTasks(subtopology_id=key, partitions=sorted(partitions))
        for key, partitions in sorted(ids.items())
    ]


def _read_holding(value: StreamsGroupCurrentMemberAssignmentValue) -> StreamsHolding:
    state, epoch = value.state, value.member_epoch
    return StreamsHolding(
        epoch,
        value.previous_member_epoch,
        TaskState(state) if state in list(TaskState) else TaskState.UNKNOWN,
        HeldTasks(
            _read_held(value.active_tasks, epoch),
            _read_ids(value.standby_tasks),
            _read_ids(value.warmup_tasks),
        ),
        HeldTasks(
            _read_held(value.active_tasks_pending_revocation, epoch),
            _read_ids(value.standby_tasks_pending_revocation),
            _read_ids(value.warmup_tasks_pending_revocation),
        ),
    )


def _read_held(tasks: list[CurrentTasks], epoch: int) -> HeldIds:
    """Records from before assignment epochs were kept have them since this epoch."""
    held = {}
    for each in tasks:
        epochs = each.assignment_epochs
        if epochs is None or len(epochs) != len(each.partitions):
            epochs = [epoch] * len(each.partitions)
        if each.partitions:
            held[each.subtopology_id] = dict(zip(each.partitions, epochs, strict=True))
    return held


def _write_holding(value: StreamsHolding) -> StreamsGroupCurrentMemberAssignmentValue:
    assigned, pending = value.assigned, value.pending
    return StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=value.epoch,
        previous_member_epoch=value.previous_epoch,
        state=int(value.state),
        active_tasks=_write_held(assigned.active),
        standby_tasks=_write_followed(assigned.standby),
        warmup_tasks=_write_followed(assigned.warmup),
        active_tasks_pending_revocation=_write_held(pending.active),
        standby_tasks_pending_revocation=_write_followed(pending.standby),
        warmup_tasks_pending_revocation=_write_followed(pending.warmup),
    )


def _write_held(held: HeldIds) -> list[CurrentTasks]:
    written = []
    for subtopology_id, epochs in sorted(held.items()):
        numbers = sorted(epochs)
        written.append(
            CurrentTasks(
                subtopology_id=subtopology_id,
                partitions=numbers,
                assignment_epochs=[epochs[number] for number in numbers],
            )
        )
    return written


def _write_followed(ids: TaskIds) -> list[CurrentTasks]:
    return [
        CurrentTasks(subtopology_id=key, partitions=sorted(partitions))
        for key, partitions in sorted(ids.items())
    ]


def _of(key: int, read: Any, write: Any, name: str | None = None) -> Layout:
    return Layout(STREAMS_RECORDS[key], read, write, name)


_LAYOUTS = {
    EPOCH_KEY: _of(EPOCH_KEY, _read_epoch, _write_epoch),
    MEMBER_KEY: _of(MEMBER_KEY, _read_member, _write_member, "member_id"),
    TARGET_EPOCH_KEY: _of(TARGET_EPOCH_KEY, _read_target_epoch, _write_target_epoch),
    TARGET_KEY: _of(TARGET_KEY, _read_target, _write_target, "member_id"),
    HOLDING_KEY: _of(HOLDING_KEY, _read_holding, _write_holding, "member_id"),
    TOPOLOGY_KEY: _of(TOPOLOGY_KEY, read_topology, write_topology),
}

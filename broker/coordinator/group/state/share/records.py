"""What is written of share groups, in Kafka's format, and what it means here.

The layouts are those of `protocol.group_records`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.coordinator.group.state.consumer.records import (
    GroupEpoch,
    TargetEpoch,
)
from odradek.broker.coordinator.group.state.layout import Layout, decoded, encoded
from odradek.protocol.group_records import (
    GROUP_RECORDS,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataValue,
    StateTopic,
    StateTopicPartitions,
    TargetPartitions,
)

from .member import ShareHolding, ShareMemberInfo
from .states import States, TopicStates

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.consumer.member import Partitions
    from odradek.storage.files.files import Buffer

    from .states import Topics

MEMBER_KEY = 10
EPOCH_KEY = 11
TARGET_EPOCH_KEY = 12
TARGET_KEY = 13
HOLDING_KEY = 14
STATES_KEY = 15
_STABLE = 0  # the one state that a member of a share group is in


class ShareRecord(NamedTuple):
    """One record; ``name`` is its member. Without ``value``: it is gone."""

    key: int
    group_id: str
    name: str = ""
    value: Any = None

    def encode(self) -> tuple[bytes, bytes | None]:
        """Key and value as they lie in the log."""
        return encoded(_LAYOUTS, self)


def decode_share(
    kind: int, key: memoryview, value: Buffer | None
) -> ShareRecord | None:
    """The record of one of these kinds; ``key`` is what follows that.

    Raises:
        MalformedRequest, struct.error: the bytes are no such record.
    """
    found = decoded(_LAYOUTS, kind, key, value)
    return None if found is None else ShareRecord(*found)


# What values mean


def _read_member(value: ShareGroupMemberMetadataValue) -> ShareMemberInfo:
    return ShareMemberInfo(
        value.rack_id,
        value.client_id,
        value.client_host,
        tuple(sorted(set(value.subscribed_topic_names))),
    )


def _write_member(value: ShareMemberInfo) -> ShareGroupMemberMetadataValue:
    return ShareGroupMemberMetadataValue(
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        subscribed_topic_names=list(value.topic_names),
    )


def _read_epoch(value: ShareGroupMetadataValue) -> GroupEpoch:
    return GroupEpoch(value.epoch, value.metadata_hash)


def _write_epoch(value: GroupEpoch) -> ShareGroupMetadataValue:
    return ShareGroupMetadataValue(epoch=value.epoch, metadata_hash=value.metadata_hash)


def _read_target_epoch(value: ShareGroupTargetAssignmentMetadataValue) -> TargetEpoch:
    return TargetEpoch(value.assignment_epoch, value.assignment_timestamp)


def _write_target_epoch(value: TargetEpoch) -> ShareGroupTargetAssignmentMetadataValue:
    return ShareGroupTargetAssignmentMetadataValue(
        assignment_epoch=value.epoch, assignment_timestamp=value.time_ms
    )


def _read_target(value: ShareGroupTargetAssignmentMemberValue) -> Partitions:
    return _read_partitions(value.topic_partitions)


def _write_target(value: Partitions) -> ShareGroupTargetAssignmentMemberValue:
    return ShareGroupTargetAssignmentMemberValue(
        topic_partitions=_write_partitions(value)
    )


def _read_holding(value: ShareGroupCurrentMemberAssignmentValue) -> ShareHolding:
    return ShareHolding(
        value.member_epoch,
        value.previous_member_epoch,
        _read_partitions(value.assigned_partitions),
    )


def _write_holding(value: ShareHolding) -> ShareGroupCurrentMemberAssignmentValue:
    return ShareGroupCurrentMemberAssignmentValue(
        member_epoch=value.epoch,
        previous_member_epoch=value.previous_epoch,
        state=_STABLE,
        assigned_partitions=_write_partitions(value.assigned),
    )


def _read_partitions(partitions: list[TargetPartitions]) -> Partitions:
    return {each.topic_id: frozenset(each.partitions) for each in partitions}


def _write_partitions(value: Partitions) -> list[TargetPartitions]:
    return [
        TargetPartitions(topic_id=topic_id, partitions=sorted(partitions))
        for topic_id, partitions in sorted(value.items())
    ]


def _read_states(value: ShareGroupStatePartitionMetadataValue) -> States:
    return States(
        _read_topics(value.initializing_topics),
        _read_topics(value.initialized_topics),
        {each.topic_id: each.topic_name for each in value.deleting_topics},
    )


def _read_topics(topics: list[StateTopicPartitions]) -> Topics:
    return {
        each.topic_id: TopicStates(each.topic_name, frozenset(each.partitions))
        for each in topics
    }


def _write_states(value: States) -> ShareGroupStatePartitionMetadataValue:
    return ShareGroupStatePartitionMetadataValue(
        initializing_topics=_write_topics(value.initializing),
        initialized_topics=_write_topics(value.initialized),
        deleting_topics=[
            StateTopic(topic_id=topic_id, topic_name=name)
            for topic_id, name in sorted(value.deleting.items())
        ],
    )


def _write_topics(topics: Topics) -> list[StateTopicPartitions]:
    return [
        StateTopicPartitions(
            topic_id=topic_id, topic_name=each.name, partitions=sorted(each.partitions)
        )
        for topic_id, each in sorted(topics.items())
    ]


def _of(key: int, read: Any, write: Any, name: str | None = None) -> Layout:
    return Layout(GROUP_RECORDS[key], read, write, name)


_LAYOUTS = {
    MEMBER_KEY: _of(MEMBER_KEY, _read_member, _write_member, "member_id"),
    EPOCH_KEY: _of(EPOCH_KEY, _read_epoch, _write_epoch),
    TARGET_EPOCH_KEY: _of(TARGET_EPOCH_KEY, _read_target_epoch, _write_target_epoch),
    TARGET_KEY: _of(TARGET_KEY, _read_target, _write_target, "member_id"),
    HOLDING_KEY: _of(HOLDING_KEY, _read_holding, _write_holding, "member_id"),
    STATES_KEY: _of(STATES_KEY, _read_states, _write_states),
}

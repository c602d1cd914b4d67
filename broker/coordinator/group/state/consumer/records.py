"""What is written of consumer groups, in Kafka's format, and what it means here.

The layouts are those of `protocol.group_records`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from odradek.broker.coordinator.group.state.layout import Layout, decoded, encoded
from odradek.protocol.group_records import (
    GROUP_RECORDS,
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataValue,
    CurrentPartitions,
    TargetPartitions,
)

from .group import ResolvedPattern
from .member import ClassicPart, Held, Holding, HoldingState, MemberInfo, Partitions

if TYPE_CHECKING:
    from odradek.storage.files.files import Buffer

EPOCH_KEY = 3
OLD_TOPICS_KEY = 4
MEMBER_KEY = 5
TARGET_EPOCH_KEY = 6
TARGET_KEY = 7
HOLDING_KEY = 8
PATTERN_KEY = 16


class GroupEpoch(NamedTuple):
    """The epoch of a group, and the hash of the topics that it reads."""

    epoch: int
    metadata_hash: int


class TargetEpoch(NamedTuple):
    """The group epoch of which the target is, and when it was made."""

    epoch: int
    time_ms: int


class OldTopics(NamedTuple):
    """The topics of a group, as brokers before 4.1 wrote them; only that they did."""


Value: TypeAlias = (
    GroupEpoch
    | OldTopics
    | MemberInfo
    | TargetEpoch
    | Partitions
    | Holding
    | ResolvedPattern
)


class ConsumerRecord(NamedTuple):
    """One record; ``name`` is its member or pattern. Without ``value``: it is gone."""

    key: int
    group_id: str
    name: str = ""
    value: Any = None

    def encode(self) -> tuple[bytes, bytes | None]:
        """Key and value as they lie in the log."""
        return encoded(_LAYOUTS, self)


def decode_consumer(
    kind: int, key: memoryview, value: Buffer | None
) -> ConsumerRecord | None:
    """The record of one of these kinds; ``key`` is what follows that.

    Raises:
        MalformedRequest, struct.error: the bytes are no such record.
    """
    found = decoded(_LAYOUTS, kind, key, value)
    return None if found is None else ConsumerRecord(*found)


# What values mean


def _read_epoch(value: ConsumerGroupMetadataValue) -> GroupEpoch:
    return GroupEpoch(value.epoch, value.metadata_hash)


def _write_epoch(value: GroupEpoch) -> ConsumerGroupMetadataValue:
    return ConsumerGroupMetadataValue(
        epoch=value.epoch, metadata_hash=value.metadata_hash
    )


def _read_member(value: ConsumerGroupMemberMetadataValue) -> MemberInfo:
    classic = value.classic_member_metadata
    return MemberInfo(
        value.instance_id,
        value.rack_id,
        value.client_id,
        value.client_host,
        tuple(sorted(set(value.subscribed_topic_names))),
        value.subscribed_topic_regex or "",
        value.rebalance_timeout_ms,
        value.server_assignor,
        None if classic is None else _read_classic(classic),
    )


def _read_classic(value: ClassicMemberMetadata) -> ClassicPart:
    protocols = (
        (each.name, bytes(each.metadata)) for each in value.supported_protocols
    )
    return ClassicPart(value.session_timeout_ms, tuple(protocols))


def _write_member(value: MemberInfo) -> ConsumerGroupMemberMetadataValue:
    classic = value.classic
    return ConsumerGroupMemberMetadataValue(
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        subscribed_topic_names=list(value.topic_names),
        subscribed_topic_regex=value.pattern,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        server_assignor=value.assignor,
        classic_member_metadata=None
        if classic is None
        else ClassicMemberMetadata(
            session_timeout_ms=classic.session_timeout_ms,
            supported_protocols=[
                ClassicProtocol(name=name, metadata=metadata)
                for name, metadata in classic.protocols
            ],
        ),
    )


def _read_target_epoch(
    value: ConsumerGroupTargetAssignmentMetadataValue,
) -> TargetEpoch:
    return TargetEpoch(value.assignment_epoch, value.assignment_timestamp)


def _write_target_epoch(
    value: TargetEpoch,
) -> ConsumerGroupTargetAssignmentMetadataValue:
    return ConsumerGroupTargetAssignmentMetadataValue(
        assignment_epoch=value.epoch, assignment_timestamp=value.time_ms
    )


def _read_target(value: ConsumerGroupTargetAssignmentMemberValue) -> Partitions:
    return {
        each.topic_id: frozenset(each.partitions) for each in value.topic_partitions
    }


def _write_target(value: Partitions) -> ConsumerGroupTargetAssignmentMemberValue:
    return ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[
            TargetPartitions(topic_id=topic_id, partitions=sorted(partitions))
            for topic_id, partitions in sorted(value.items())
        ]
    )


def _read_holding(value: ConsumerGroupCurrentMemberAssignmentValue) -> Holding:
    state = value.state
    known = HoldingState(state) if state in list(HoldingState) else HoldingState.UNKNOWN
    return Holding(
        value.member_epoch,
        value.previous_member_epoch,
        known,
        _read_held(value.assigned_partitions, value.member_epoch),
        _read_held(value.partitions_pending_revocation, value.member_epoch),
    )


def _read_held(partitions: list[CurrentPartitions], epoch: int) -> Held:
    """Records from before assignment epochs were kept have them since this epoch."""
    held = {}
    for each in partitions:
        epochs = each.assignment_epochs
        if epochs is None or len(epochs) != len(each.partitions):
            epochs = [epoch] * len(each.partitions)
        held[each.topic_id] = dict(zip(each.partitions, epochs, strict=True))
    return held


def _write_holding(value: Holding) -> ConsumerGroupCurrentMemberAssignmentValue:
    return ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=value.epoch,
        previous_member_epoch=value.previous_epoch,
        state=int(value.state),
        assigned_partitions=_write_held(value.assigned),
        partitions_pending_revocation=_write_held(value.pending),
    )


def _write_held(held: Held) -> list[CurrentPartitions]:
    written = []
    for topic_id, epochs in sorted(held.items()):
        numbers = sorted(epochs)
        written.append(
            CurrentPartitions(
                topic_id=topic_id,
                partitions=numbers,
                assignment_epochs=[epochs[number] for number in numbers],
            )
        )
    return written


def _read_pattern(value: ConsumerGroupRegularExpressionValue) -> ResolvedPattern:
    return ResolvedPattern(frozenset(value.topics), value.version, value.timestamp)


def _write_pattern(value: ResolvedPattern) -> ConsumerGroupRegularExpressionValue:
    return ConsumerGroupRegularExpressionValue(
        topics=sorted(value.topics), version=value.version, timestamp=value.time_ms
    )


def _read_old_topics(_: ConsumerGroupPartitionMetadataValue) -> OldTopics:
    return OldTopics()


def _write_old_topics(_: OldTopics) -> ConsumerGroupPartitionMetadataValue:
    return ConsumerGroupPartitionMetadataValue()


def _of(key: int, read: Any, write: Any, name: str | None = None) -> Layout:
    return Layout(GROUP_RECORDS[key], read, write, name)


_LAYOUTS = {
    EPOCH_KEY: _of(EPOCH_KEY, _read_epoch, _write_epoch),
    OLD_TOPICS_KEY: _of(OLD_TOPICS_KEY, _read_old_topics, _write_old_topics),
    MEMBER_KEY: _of(MEMBER_KEY, _read_member, _write_member, "member_id"),
    TARGET_EPOCH_KEY: _of(TARGET_EPOCH_KEY, _read_target_epoch, _write_target_epoch),
    TARGET_KEY: _of(TARGET_KEY, _read_target, _write_target, "member_id"),
    HOLDING_KEY: _of(HOLDING_KEY, _read_holding, _write_holding, "member_id"),
    PATTERN_KEY: _of(PATTERN_KEY, _read_pattern, _write_pattern, "regular_expression"),
}

"""The records of ``__consumer_offsets``: what a group coordinator remembers.

A key begins with an int16 that says of what kind the record is; a value with the
int16 of its version. A value of null is a tombstone: the thing is gone.

==== ========================================== =====================================
type record                                     of
==== ========================================== =====================================
0, 1 `OffsetCommitKey`                          an offset that was committed
2    `GroupMetadataKey`                         a classic group with its members
3    `ConsumerGroupMetadataKey`                 a group of KIP-848: its epoch
4    `ConsumerGroupPartitionMetadataKey`        the topics it reads (before 4.1)
5    `ConsumerGroupMemberMetadataKey`           a member, as it described itself
6    `ConsumerGroupTargetAssignmentMetadataKey` the epoch of the target assignment
7    `ConsumerGroupTargetAssignmentMemberKey`   what a member shall read
8    `ConsumerGroupCurrentMemberAssignmentKey`  what a member reads now
10   `ShareGroupMemberMetadataKey`              a member of a share group (KIP-932)
11   `ShareGroupMetadataKey`                    a share group: its epoch
12   `ShareGroupTargetAssignmentMetadataKey`    the epoch of its target assignment
13   `ShareGroupTargetAssignmentMemberKey`      what a member shall read
14   `ShareGroupCurrentMemberAssignmentKey`     what a member reads now
15   `ShareGroupStatePartitionMetadataKey`      the partitions that have a state
16   `ConsumerGroupRegularExpressionKey`        the topics that a pattern matches
==== ========================================== =====================================

The other types are those of streams groups (`protocol.streams_records`).
"""

from .schema import (
    Message,
    Struct,
    array,
    between,
    bytes_,
    int8,
    int32,
    int64,
    since,
    string,
    struct,
    uuid,
)


class OffsetCommitKey(Message, versions=(0, 0)):
    """A group and the partition that it reads."""

    group: str = string()
    topic: str = string()
    partition: int = int32()


class OffsetCommitValue(Message, versions=(0, 4), flexible=4):
    """The offset that the group reads next."""

    offset: int = int64()
    leader_epoch: int = int32(versions=since(3), default=-1)
    metadata: str = string()
    commit_timestamp: int = int64()
    expire_timestamp: int = int64(versions=between(1, 1), default=-1)
    topic_id: bytes = uuid(versions=since(4), tag=0)


class GroupMetadataKey(Message, versions=(0, 0)):
    """A classic group."""

    group: str = string()


class GroupMember(Struct):
    """A member of a classic group; its bytes are those of ``consumer_protocol``."""

    member_id: str = string()
    group_instance_id: str | None = string(
        versions=since(3), nullable=True, default=None
    )
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout: int = int32(versions=since(1), default=-1)
    session_timeout: int = int32()
    subscription: bytes = bytes_()
    assignment: bytes = bytes_()


class GroupMetadataValue(Message, versions=(0, 4), flexible=4):
    """A classic group as it was after its last rebalance."""

    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = string(nullable=True)
    leader: str | None = string(nullable=True)
    current_state_timestamp: int = int64(versions=since(2), default=-1)
    members: list[GroupMember] = array()


class OfGroup(Message):
    """A key that names a group."""

    group_id: str = string()


class OfMember(Message):
    """A key that names a member of a group."""

    group_id: str = string()
    member_id: str = string()


class ConsumerGroupMetadataKey(OfGroup, versions=(0, 0)):
    """A group of KIP-848."""


class ConsumerGroupMetadataValue(Message, versions=(0, 0), flexible=0):
    """The epoch of a group, raised by every change."""

    epoch: int = int32()
    metadata_hash: int = int64(tag=0)


class ConsumerGroupPartitionMetadataKey(OfGroup, versions=(0, 0)):
    """A group whose topics are described."""


class PartitionRacks(Struct):
    """The racks that have a replica of a partition."""

    partition: int = int32()
    racks: list[str] = array()


class SubscribedTopic(Struct):
    """A topic that the group reads."""

    topic_id: bytes = uuid()
    topic_name: str = string()
    num_partitions: int = int32()
    partition_metadata: list[PartitionRacks] = array()


class ConsumerGroupPartitionMetadataValue(Message, versions=(0, 0), flexible=0):
    """The topics of a group, as they were."""

    topics: list[SubscribedTopic] = array()


class ConsumerGroupMemberMetadataKey(OfMember, versions=(0, 0)):
    """A member of a group."""


class ClassicProtocol(Struct):
    """A way of assigning that a classic member supports."""

    name: str = string()
    metadata: bytes = bytes_()


class ClassicMemberMetadata(Struct):
    """What a member said that joined by the classic protocol."""

    session_timeout_ms: int = int32()
    supported_protocols: list[ClassicProtocol] = array()


class ConsumerGroupMemberMetadataValue(Message, versions=(0, 0), flexible=0):
    """A member, as it described itself."""

    instance_id: str | None = string(nullable=True)
    rack_id: str | None = string(nullable=True)
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array()
    subscribed_topic_regex: str | None = string(nullable=True)
    rebalance_timeout_ms: int = int32(default=-1)
    server_assignor: str | None = string(nullable=True)
    classic_member_metadata: ClassicMemberMetadata | None = struct(nullable=True, tag=0)


class ConsumerGroupTargetAssignmentMetadataKey(OfGroup, versions=(0, 0)):
    """A group that has a target assignment."""


class ConsumerGroupTargetAssignmentMetadataValue(Message, versions=(0, 0), flexible=0):
    """The group epoch for which the target was made."""

    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0)


class ConsumerGroupTargetAssignmentMemberKey(OfMember, versions=(0, 0)):
    """A member that has a target."""


class TargetPartitions(Struct):
    """Partitions of one topic."""

    topic_id: bytes = uuid()
    partitions: list[int] = array(of=int32)


class ConsumerGroupTargetAssignmentMemberValue(Message, versions=(0, 0), flexible=0):
    """What the member shall read."""

    topic_partitions: list[TargetPartitions] = array()


class ConsumerGroupCurrentMemberAssignmentKey(OfMember, versions=(0, 0)):
    """A member that reads."""


class CurrentPartitions(Struct):
    """Partitions of one topic, and since which epochs the member has them."""

    topic_id: bytes = uuid()
    partitions: list[int] = array(of=int32)
    assignment_epochs: list[int] | None = array(of=int32, nullable=True, tag=0)


class ConsumerGroupCurrentMemberAssignmentValue(Message, versions=(0, 0), flexible=0):
    """What the member reads, and what it has yet to give up."""

    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    assigned_partitions: list[CurrentPartitions] = array()
    partitions_pending_revocation: list[CurrentPartitions] = array()


class ConsumerGroupRegularExpressionKey(Message, versions=(0, 0)):
    """A pattern by which members of a group subscribe."""

    group_id: str = string()
    regular_expression: str = string()


class ConsumerGroupRegularExpressionValue(Message, versions=(0, 0), flexible=0):
    """The topics that the pattern matched."""

    topics: list[str] = array()
    version: int = int64()
    timestamp: int = int64()


class ShareGroupMemberMetadataKey(OfMember, versions=(0, 0)):
    """A member of a share group."""


class ShareGroupMemberMetadataValue(Message, versions=(0, 0), flexible=0):
    """A member, as it described itself."""

    rack_id: str | None = string(nullable=True)
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array()


class ShareGroupMetadataKey(OfGroup, versions=(0, 0)):
    """A share group."""


class ShareGroupMetadataValue(Message, versions=(0, 0), flexible=0):
    """The epoch of a group, raised by every change."""

    epoch: int = int32()
    metadata_hash: int = int64()


class ShareGroupTargetAssignmentMetadataKey(OfGroup, versions=(0, 0)):
    """A share group that has a target assignment."""


class ShareGroupTargetAssignmentMetadataValue(Message, versions=(0, 0), flexible=0):
    """The group epoch for which the target was made."""

    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0)


class ShareGroupTargetAssignmentMemberKey(OfMember, versions=(0, 0)):
    """A member that has a target."""


class ShareGroupTargetAssignmentMemberValue(Message, versions=(0, 0), flexible=0):
    """What the member shall read."""

    topic_partitions: list[TargetPartitions] = array()


class ShareGroupCurrentMemberAssignmentKey(OfMember, versions=(0, 0)):
    """A member that reads."""


class ShareGroupCurrentMemberAssignmentValue(Message, versions=(0, 0), flexible=0):
    """What the member reads; with others, so that nobody has to give anything up."""

    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    assigned_partitions: list[TargetPartitions] = array()


class ShareGroupStatePartitionMetadataKey(OfGroup, versions=(0, 0)):
    """A share group whose partitions have, or had, a state."""


class StateTopicPartitions(Struct):
    """Partitions of one topic, by its id and its name."""

    topic_id: bytes = uuid()
    topic_name: str = string()
    partitions: list[int] = array(of=int32)


class StateTopic(Struct):
    """A topic, by its id and its name."""

    topic_id: bytes = uuid()
    topic_name: str = string()


class ShareGroupStatePartitionMetadataValue(Message, versions=(0, 0), flexible=0):
    """Which states are being begun, are there, and are being deleted."""

    initializing_topics: list[StateTopicPartitions] = array()
    initialized_topics: list[StateTopicPartitions] = array()
    deleting_topics: list[StateTopic] = array()


# Key and value of each type of record; they carry no other version than these say.
GROUP_RECORDS: dict[int, tuple[type[Message], type[Message]]] = {
    0: (OffsetCommitKey, OffsetCommitValue),
    1: (OffsetCommitKey, OffsetCommitValue),
    2: (GroupMetadataKey, GroupMetadataValue),
    3: (ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
    4: (ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue),
    5: (ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
    6: (
        ConsumerGroupTargetAssignmentMetadataKey,
        ConsumerGroupTargetAssignmentMetadataValue,
    ),
    7: (
        ConsumerGroupTargetAssignmentMemberKey,
        ConsumerGroupTargetAssignmentMemberValue,
    ),
    8: (
        ConsumerGroupCurrentMemberAssignmentKey,
        ConsumerGroupCurrentMemberAssignmentValue,
    ),
    10: (ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue),
    11: (ShareGroupMetadataKey, ShareGroupMetadataValue),
    12: (
        ShareGroupTargetAssignmentMetadataKey,
        ShareGroupTargetAssignmentMetadataValue,
    ),
    13: (ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue),
    14: (
        ShareGroupCurrentMemberAssignmentKey,
        ShareGroupCurrentMemberAssignmentValue,
    ),
    15: (ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue),
    16: (ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue),
}

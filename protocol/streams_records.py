"""The records of ``__consumer_offsets`` that are of streams groups (KIP-1071).

As those of `protocol.group_records`, with types of their own:

==== ========================================== =====================================
type record                                     of
==== ========================================== =====================================
17   `StreamsGroupMetadataKey`                  a streams group: its epoch
19   `StreamsGroupMemberMetadataKey`            a member, as it described itself
20   `StreamsGroupTargetAssignmentMetadataKey`  the epoch of the target assignment
21   `StreamsGroupTargetAssignmentMemberKey`    the tasks that a member shall have
22   `StreamsGroupCurrentMemberAssignmentKey`   the tasks that a member has now
23   `StreamsGroupTopologyKey`                  what its application computes
==== ========================================== =====================================

Type 18 is not used.
"""

from .group_records import OfGroup, OfMember
from .schema import (
    Message,
    Struct,
    array,
    int8,
    int16,
    int32,
    int64,
    string,
    struct,
    uint16,
)


class StreamsGroupMetadataKey(OfGroup, versions=(0, 0)):
    """A streams group."""


class AssignmentConfig(Struct):
    """An option by which tasks were assigned."""

    key: str = string()
    value: str = string()


class StreamsGroupMetadataValue(Message, versions=(0, 0), flexible=0):
    """The epoch of a group, raised by every change; and what it went by then."""

    epoch: int = int32()
    metadata_hash: int = int64()
    validated_topology_epoch: int = int32(tag=0, default=-1)
    last_assignment_configs: list[AssignmentConfig] | None = array(
        nullable=True, tag=1, default=None
    )


class StreamsGroupMemberMetadataKey(OfMember, versions=(0, 0)):
    """A member of a streams group."""


class MemberEndpoint(Struct):
    """Where an instance of the application answers queries."""

    host: str = string()
    port: int = uint16()


class ClientTag(Struct):
    """What an instance says of the place where it runs."""

    key: str = string()
    value: str = string()


class StreamsGroupMemberMetadataValue(Message, versions=(0, 0), flexible=0):
    """A member, as it described itself."""

    instance_id: str | None = string(nullable=True)
    rack_id: str | None = string(nullable=True)
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout_ms: int = int32(default=-1)
    topology_epoch: int = int32()
    process_id: str = string()
    user_endpoint: MemberEndpoint | None = struct(nullable=True, default=None)
    client_tags: list[ClientTag] = array()


class StreamsGroupTargetAssignmentMetadataKey(OfGroup, versions=(0, 0)):
    """A group that has a target assignment."""


class StreamsGroupTargetAssignmentMetadataValue(Message, versions=(0, 0), flexible=0):
    """The group epoch for which the target was made."""

    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0)


class StreamsGroupTargetAssignmentMemberKey(OfMember, versions=(0, 0)):
    """A member that has a target."""


class TargetTasks(Struct):
    """Tasks of one subtopology."""

    subtopology_id: str = string()
    partitions: list[int] = array(of=int32)


class StreamsGroupTargetAssignmentMemberValue(Message, versions=(0, 0), flexible=0):
    """The tasks that the member shall have."""

    active_tasks: list[TargetTasks] = array()
    standby_tasks: list[TargetTasks] = array()
    warmup_tasks: list[TargetTasks] = array()


class StreamsGroupCurrentMemberAssignmentKey(OfMember, versions=(0, 0)):
    """A member that has tasks."""


class CurrentTasks(Struct):
    """Tasks of one subtopology; of active ones, since which epochs they are had."""

    subtopology_id: str = string()
    partitions: list[int] = array(of=int32)
    assignment_epochs: list[int] | None = array(
        of=int32, nullable=True, tag=0, default=None
    )


class StreamsGroupCurrentMemberAssignmentValue(Message, versions=(0, 0), flexible=0):
    """The tasks that the member has, and those that it has yet to give up."""

    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    active_tasks: list[CurrentTasks] = array()
    standby_tasks: list[CurrentTasks] = array()
    warmup_tasks: list[CurrentTasks] = array()
    active_tasks_pending_revocation: list[CurrentTasks] = array()
    standby_tasks_pending_revocation: list[CurrentTasks] = array()
    warmup_tasks_pending_revocation: list[CurrentTasks] = array()


class StreamsGroupTopologyKey(OfGroup, versions=(0, 0)):
    """A streams group whose application is known."""


class TopicConfig(Struct):
    """An option of a topic."""

    key: str = string()
    value: str = string()


class TopicInfo(Struct):
    """A topic of the application's own; 0 leaves the number to the broker."""

    name: str = string()
    partitions: int = int32()
    replication_factor: int = int16()
    topic_configs: list[TopicConfig] = array()


class RecordedCopartitionGroup(Struct):
    """Inputs that have the same number of partitions, by their places in the lists."""

    source_topics: list[int] = array(of=int16)
    source_topic_regex: list[int] = array(of=int16)
    repartition_source_topics: list[int] = array(of=int16)


class RecordedSubtopology(Struct):
    """A part of what the application computes."""

    subtopology_id: str = string()
    source_topics: list[str] = array(of=string)
    source_topic_regex: list[str] = array(of=string)
    state_changelog_topics: list[TopicInfo] = array()
    repartition_sink_topics: list[str] = array(of=string)
    repartition_source_topics: list[TopicInfo] = array()
    copartition_groups: list[RecordedCopartitionGroup] = array()


class StreamsGroupTopologyValue(Message, versions=(0, 0), flexible=0):
    """What the application computes."""

    epoch: int = int32()
    subtopologies: list[RecordedSubtopology] = array()


# Key and value of each type of record; they carry no other version than these say.
STREAMS_RECORDS: dict[int, tuple[type[Message], type[Message]]] = {
    17: (StreamsGroupMetadataKey, StreamsGroupMetadataValue),
    19: (StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue),
    20: (
        StreamsGroupTargetAssignmentMetadataKey,
        StreamsGroupTargetAssignmentMetadataValue,
    ),
    21: (
        StreamsGroupTargetAssignmentMemberKey,
        StreamsGroupTargetAssignmentMemberValue,
    ),
    22: (
        StreamsGroupCurrentMemberAssignmentKey,
        StreamsGroupCurrentMemberAssignmentValue,
    ),
    23: (StreamsGroupTopologyKey, StreamsGroupTopologyValue),
}

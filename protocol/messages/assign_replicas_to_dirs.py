"""AssignReplicasToDirs: a broker says which of its directories has what (KIP-858)."""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    int64,
    uuid,
)


class AssignedPartition(Struct):
    """A partition that is there."""

    partition_index: int = int32()


class AssignedTopic(Struct):
    """The partitions of one topic."""

    topic_id: bytes = uuid()
    partitions: list[AssignedPartition] = array()


class AssignedDirectory(Struct):
    """A log directory, and what is in it."""

    id: bytes = uuid()
    topics: list[AssignedTopic] = array()


class AssignReplicasToDirsRequest(
    Request, api_key=ApiKey.ASSIGN_REPLICAS_TO_DIRS, versions=(0, 0), flexible=0
):
    """Note that these replicas are in these directories."""

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    directories: list[AssignedDirectory] = array()


class PartitionAssignment(Struct):
    """Whether one is noted."""

    partition_index: int = int32()
    error_code: int = int16()


class TopicAssignment(Struct):
    """The partitions of one topic."""

    topic_id: bytes = uuid()
    partitions: list[PartitionAssignment] = array()


class DirectoryAssignment(Struct):
    """A log directory, and what is said to be in it."""

    id: bytes = uuid()
    topics: list[TopicAssignment] = array()


class AssignReplicasToDirsResponse(
    Response, api_key=ApiKey.ASSIGN_REPLICAS_TO_DIRS, versions=(0, 0), flexible=0
):
    """The answer to each, or one error for all."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    directories: list[DirectoryAssignment] = array()

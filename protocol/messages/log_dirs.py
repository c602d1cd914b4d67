"""Log directories: DescribeLogDirs and AlterReplicaLogDirs (KIP-113)."""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
    since,
    string,
)


class DescribableLogDirTopic(Struct):
    """A topic, and which of its partitions to show."""

    topic: str = string()
    partitions: list[int] = array(of=int32)


class DescribeLogDirsRequest(
    Request, api_key=ApiKey.DESCRIBE_LOG_DIRS, versions=(1, 5), flexible=2
):
    """Show the directories with these partitions; null means all of them."""

    topics: list[DescribableLogDirTopic] | None = array(nullable=True)


class DescribeLogDirsPartition(Struct):
    """A partition in a directory; a future one is on its way there."""

    partition_index: int = int32()
    partition_size: int = int64()
    offset_lag: int = int64()
    is_future_key: bool = boolean()


class DescribeLogDirsTopic(Struct):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[DescribeLogDirsPartition] = array()


class DescribeLogDirsResult(Struct):
    """A directory, or why it cannot be used; -1 for sizes that nobody knows."""

    error_code: int = int16()
    log_dir: str = string()
    topics: list[DescribeLogDirsTopic] = array()
    total_bytes: int = int64(versions=since(4), default=-1)
    usable_bytes: int = int64(versions=since(4), default=-1)
    is_cordoned: bool = boolean(versions=since(5))


class DescribeLogDirsResponse(
    Response, api_key=ApiKey.DESCRIBE_LOG_DIRS, versions=(1, 5), flexible=2
):
    """Every log directory. Version 4 knows its size (KIP-827), 5 if it is closed."""

    throttle_time_ms: int = int32()
    error_code: int = int16(versions=since(3))
    results: list[DescribeLogDirsResult] = array()


class AlterReplicaLogDirTopic(Struct):
    """The partitions of one topic that are to move."""

    name: str = string()
    partitions: list[int] = array(of=int32)


class AlterReplicaLogDir(Struct):
    """A directory, and what is to move there."""

    path: str = string()
    topics: list[AlterReplicaLogDirTopic] = array()


class AlterReplicaLogDirsRequest(
    Request, api_key=ApiKey.ALTER_REPLICA_LOG_DIRS, versions=(1, 2), flexible=2
):
    """Move partitions to other directories of this broker."""

    dirs: list[AlterReplicaLogDir] = array()


class AlterReplicaLogDirPartitionResult(Struct):
    """Whether a partition is on its way."""

    partition_index: int = int32()
    error_code: int = int16()


class AlterReplicaLogDirTopicResult(Struct):
    """The partitions of one topic."""

    topic_name: str = string()
    partitions: list[AlterReplicaLogDirPartitionResult] = array()


class AlterReplicaLogDirsResponse(
    Response, api_key=ApiKey.ALTER_REPLICA_LOG_DIRS, versions=(1, 2), flexible=2
):
    """One answer for each partition."""

    throttle_time_ms: int = int32()
    results: list[AlterReplicaLogDirTopicResult] = array()

"""Log directories (KIP-113): DescribeLogDirs 1-5 and AlterReplicaLogDirs 1-2.

Which partition lies in which directory, how large it is, and having it moved to another
one. A partition that was never written to has no directory yet: it is shown, with size
0, where it would get one now. One that moves is shown in both. What other brokers of a
cluster have is not shown; to have it in a directory is to be asked for before it comes.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.protocol.acls import Operation
from odradek.protocol.errors import (
    ErrorCode,
    InvalidTopic,
    KafkaError,
    KafkaStorageError,
    LogDirNotFound,
    ReplicaNotAvailable,
    UnknownTopicOrPartition,
)
from odradek.protocol.messages.log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.log_directory import NAME_SIZE_MAX

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.services import Services

UNKNOWN_SIZE = -1
_LOG_SUFFIX = ".log"
_FUTURE_SUFFIX_SIZE = len(".-future") + 32
_Places = dict["Path", list[TopicPartition]]


class _Space(NamedTuple):
    """A directory's file system; -1 where it does not say."""

    total_bytes: int
    usable_bytes: int


@handles(
    DescribeLogDirsRequest,
    versions=(1, 5),
    needs=needs.before(needs.cluster(Operation.DESCRIBE)),
)
async def handle_describe_log_dirs(
    ctx: RequestContext, request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse:
    """Every directory, with those of the partitions that were asked for."""
    services = ctx.services
    manager = services.log_manager
    wanted = dict.fromkeys(_wanted(services, request))
    homes = manager.directories_of()
    unopened = {
        each: homes[each]
        for each in wanted
        if each in homes and manager.get(each) is None
    }
    paths = [each.path for each in manager.directories if each.failure is None]
    spaces, sizes = await services.disk_threads.run(_measure, paths, unopened)
    # From here on all is of one moment: a partition that moves is always somewhere.
    for topic_partition in wanted:
        log = manager.get(topic_partition)
        if log is not None:
            sizes[topic_partition] = log.size
    places = _places(services, wanted)
    results = []
    for directory in manager.directories:
        if directory.failure is not None:
            results.append(_failed(directory.path))
        else:
            listed = places.get(directory.path, [])
            space = spaces[directory.path]
            result = _described(directory.path, listed, sizes, space)
            _add_futures(result, services, directory.path, wanted)
            results.append(result)
    return DescribeLogDirsResponse(results=results)


def _wanted(
    services: Services, request: DescribeLogDirsRequest
) -> Iterable[TopicPartition]:
    """The partitions that exist among those that are asked for."""
    if request.topics is None:
        for topic in services.metadata:
            for info in topic.partitions:
                yield TopicPartition(topic.name, info.partition)
        return
    named = {
        TopicPartition(topic.topic, number): None
        for topic in request.topics
        for number in topic.partitions
    }
    yield from (each for each in named if services.metadata.partition(each) is not None)


def _places(services: Services, wanted: Iterable[TopicPartition]) -> _Places:
    """The partitions of each directory; those that have none are in the next one."""
    places: _Places = {}
    homes = services.log_manager.directories_of()
    try:
        next_home = services.log_manager.directories.choose(None).path
    except KafkaStorageError:
        next_home = None
    for topic_partition in wanted:
        home = homes.get(topic_partition)
        info = services.metadata.partition(topic_partition)
        if home is not None:
            places.setdefault(home.parent, []).append(topic_partition)
        elif (
            info is not None
            and not info.written
            and _is_here(services, topic_partition)
        ):
            chosen = next_home if info.log_dir is None else Path(info.log_dir)
            if chosen is not None:
                places.setdefault(chosen, []).append(topic_partition)
    return places


def _is_here(services: Services, topic_partition: TopicPartition) -> bool:
    """Whether this broker has a copy, or is to have one."""
    cluster, topic = services.cluster, services.metadata.get(topic_partition.topic)
    if cluster is None or topic is None:
        return cluster is None
    placed = cluster.placed(topic.topic_id, topic_partition.partition)
    return placed is not None and services.node_id in placed.replicas


def _measure(
    paths: Iterable[Path], unopened: Mapping[TopicPartition, Path]
) -> tuple[dict[Path, _Space], dict[TopicPartition, int]]:
    """What only the disk knows. For a disk thread."""
    spaces = {path: _space_of(path) for path in paths}
    return spaces, {each: _size_of(path) for each, path in unopened.items()}


def _space_of(path: Path) -> _Space:
    try:
        usage = shutil.disk_usage(path)
    except OSError:
        return _Space(UNKNOWN_SIZE, UNKNOWN_SIZE)
    return _Space(usage.total, usage.free)


def _size_of(path: Path) -> int:
    try:
        files = [each for each in path.iterdir() if each.suffix == _LOG_SUFFIX]
        return sum(each.stat().st_size for each in files)
    except OSError:  # it is just being moved, or deleted
        return 0


def _add_futures(
    result: DescribeLogDirsResult,
    services: Services,
    path: Path,
    wanted: Container[TopicPartition],
) -> None:
    """Add the partitions that are on their way into a directory, not those that are
    there: clients take the later entry of a directory for the only one.
    """
    topics = {each.name: each for each in result.topics}
    for topic_partition, move in services.moving.moves.items():
        if move.directory != path or topic_partition not in wanted:
            continue
        if move.log.directory.parent == path:
            continue
        name = topic_partition.topic
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = DescribeLogDirsTopic(name=name)
            result.topics.append(topic)
        topic.partitions.append(
            DescribeLogDirsPartition(
                partition_index=topic_partition.partition,
                partition_size=move.size,
                offset_lag=move.offset_lag,
                is_future_key=True,
            )
        )


def _failed(path: Path) -> DescribeLogDirsResult:
    return DescribeLogDirsResult(
        error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=str(path.absolute())
    )


def _described(
    path: Path,
    listed: Iterable[TopicPartition],
    sizes: Mapping[TopicPartition, int],
    space: _Space,
) -> DescribeLogDirsResult:
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    for topic_partition in listed:
        topics.setdefault(topic_partition.topic, []).append(
            DescribeLogDirsPartition(
                partition_index=topic_partition.partition,
                partition_size=sizes.get(topic_partition, 0),
            )
        )
    return DescribeLogDirsResult(
        log_dir=str(path.absolute()),
        topics=[
            DescribeLogDirsTopic(name=name, partitions=partitions)
            for name, partitions in topics.items()
        ],
        total_bytes=space.total_bytes,
        usable_bytes=space.usable_bytes,
    )


@handles(
    AlterReplicaLogDirsRequest,
    versions=(1, 2),
    needs=needs.before(needs.cluster(Operation.ALTER)),
)
async def handle_alter_replica_log_dirs(
    ctx: RequestContext, request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse:
    """Have partitions live in other directories; answered when moves have begun."""
    services = ctx.services
    topics: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for wanted in request.dirs:
        for topic in wanted.topics:
            results = topics.setdefault(topic.name, [])
            for number in topic.partitions:
                topic_partition = TopicPartition(topic.name, number)
                try:
                    await _place(services, topic_partition, wanted.path)
                    code = ErrorCode.NONE
                except KafkaError as error:
                    code = ErrorCode(error.code)
                results.append(
                    AlterReplicaLogDirPartitionResult(
                        partition_index=number, error_code=code
                    )
                )
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(topic_name=name, partitions=results)
            for name, results in topics.items()
        ]
    )


@answers_errors(AlterReplicaLogDirsRequest)
def refuse_alter_replica_log_dirs(
    request: AlterReplicaLogDirsRequest, error: KafkaError
) -> AlterReplicaLogDirsResponse:
    """The same error for every partition."""
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(
                topic_name=topic.name,
                partitions=[
                    AlterReplicaLogDirPartitionResult(
                        partition_index=number, error_code=error.code
                    )
                    for number in topic.partitions
                ],
            )
            for wanted in request.dirs
            for topic in wanted.topics
        ]
    )


async def _place(
    services: Services, topic_partition: TopicPartition, path: str
) -> None:
    if len(str(topic_partition)) + _FUTURE_SUFFIX_SIZE > NAME_SIZE_MAX:
        raise InvalidTopic("The topic name is too long.")
    for directory in services.log_manager.directories:
        if str(directory.path.absolute()) == path:
            break
    else:
        raise LogDirNotFound(f"Log dir {path} is not found in the config.")
    if directory.failure is not None:
        raise KafkaStorageError(f"Log directory {path} is offline")
    if services.metadata.partition(topic_partition) is None:
        raise UnknownTopicOrPartition
    if not _is_here(services, topic_partition):
        await services.metadata.move(topic_partition, path)  # for when it comes here
        raise ReplicaNotAvailable
    manager = services.replica_manager
    await manager.open([topic_partition])
    await services.moving.place(manager.partition(topic_partition), directory.path)

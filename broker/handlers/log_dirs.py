"""DescribeLogDirs 1-5: which partition lies in which directory, and how large it is.

A partition that was never written to has no directory yet: it is shown, with size 0,
where it would get one now.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, NamedTuple

from protocol.errors import ErrorCode, KafkaStorageError
from protocol.messages.log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from protocol.topic_partition import TopicPartition

from .registry import handles

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ..network.request_context import RequestContext
    from ..services import Services

UNKNOWN_SIZE = -1
_LOG_SUFFIX = ".log"
_Places = dict["Path", list[TopicPartition]]


class _Space(NamedTuple):
    """A directory's file system; -1 where it does not say."""

    total_bytes: int
    usable_bytes: int


@handles(DescribeLogDirsRequest, versions=(1, 5))
async def handle_describe_log_dirs(
    ctx: RequestContext, request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse:
    """Every directory, with those of the partitions that were asked for."""
    services = ctx.services
    places = _places(services, _wanted(services, request))
    sizes: dict[TopicPartition, int] = {}
    unopened: dict[TopicPartition, Path] = {}
    homes = services.log_manager.directories_of()
    for topic_partition in (each for listed in places.values() for each in listed):
        log = services.log_manager.get(topic_partition)
        if log is not None:
            sizes[topic_partition] = log.size
        elif topic_partition in homes:
            unopened[topic_partition] = homes[topic_partition]
    directories = list(services.log_manager.directories)
    paths = [each.path for each in directories if each.failure is None]
    spaces, more = await services.disk_threads.run(_measure, paths, unopened)
    sizes |= more
    results = []
    for directory in directories:
        if directory.failure is not None:
            results.append(_failed(directory.path))
        else:
            listed = places.get(directory.path, [])
            space = spaces[directory.path]
            results.append(_described(directory.path, listed, sizes, space))
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
        elif next_home is not None and info is not None and not info.written:
            places.setdefault(next_home, []).append(topic_partition)
    return places


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

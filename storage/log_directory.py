"""A log directory: its lock, its clean-shutdown marker, the names in it.

A partition lives in ``topic-partition``. A deleted one is first renamed to
``topic-partition.<32 hex>-delete``, its topic shortened if the name would be longer
than a file system takes; Kafka's ``-stray`` and ``-future`` directories look alike.
Anything else in a log directory is not ours: left alone, and reported.

The marker says that everything was synced and closed in order. It is believed once:
it is removed, durably, before anything else may change.
"""

import fcntl
import os
import re
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple
from uuid import uuid4

from protocol.topic_partition import TopicPartition

from .files import Files

LOCK_NAME: Final = ".lock"
CLEAN_MARKER_NAME: Final = ".kafka_cleanshutdown"

_CLEAN_MARKER: Final = b'{"version":0,"brokerEpoch":-1}'
_NAME_SIZE_MAX: Final = 255
_PARTITION = re.compile(r"([a-zA-Z0-9._-]+)-(\d+)", re.ASCII)
_SUFFIXED = re.compile(
    r"([a-zA-Z0-9._-]+)-(\d+)\.[0-9a-f]{32}-(delete|stray|future)", re.ASCII
)


class DirectoryInUse(Exception):
    """Another process holds the lock of a log directory."""


class DirectoryKind(Enum):
    """What the directory of a partition is for."""

    LOG = "log"
    DELETE = "delete"
    STRAY = "stray"
    FUTURE = "future"


class DirectoryName(NamedTuple):
    """What the name of a partition's directory says.

    The topic of a deleted one may be shortened, and is good for reports only.
    """

    topic_partition: TopicPartition
    kind: DirectoryKind


def parse_directory_name(name: str) -> DirectoryName | None:
    """What a name in a log directory stands for; None when it is not a partition's.

    Topics may hold dots and dashes: the partition is behind the last dash.
    """
    kind = DirectoryKind.LOG
    match = _SUFFIXED.fullmatch(name)
    if match is not None:
        kind = DirectoryKind(match[3])
    else:
        match = _PARTITION.fullmatch(name)
        if match is None or match[1] in (".", ".."):
            return None
    return DirectoryName(TopicPartition(match[1], int(match[2])), kind)


def deleted_name(topic_partition: TopicPartition) -> str:
    """A new name for the directory of a partition that is to be removed."""
    suffix = f"-{topic_partition.partition}.{uuid4().hex}-delete"
    return topic_partition.topic[: _NAME_SIZE_MAX - len(suffix)] + suffix


def has_clean_marker(files: Files, directory: Path) -> bool:
    """Whether the last broker that used the directory closed everything in order."""
    return files.exists(directory / CLEAN_MARKER_NAME)


def remove_clean_marker(files: Files, directory: Path) -> None:
    """Take the marker away, durably: from now on the directory may change."""
    files.unlink(directory / CLEAN_MARKER_NAME)
    files.sync_directory(directory)


def write_clean_marker(files: Files, directory: Path) -> None:
    """Say that everything in the directory is synced. The last thing to be done."""
    files.write_atomic(directory / CLEAN_MARKER_NAME, _CLEAN_MARKER)


class DirectoryLock:
    """The hold that one process has on a log directory, until it lets go or dies.

    Two locks are taken on one file: that of ``flock``, which also keeps a second
    broker of the same process out, and that of ``lockf``, which is Apache Kafka's.
    """

    def __init__(self, directory: Path) -> None:
        """Take the lock.

        Raises:
            DirectoryInUse: it is held; the message names the process, if it is known.
        """
        path = directory / LOCK_NAME
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._descriptor, 32, 0).decode("ascii", "replace")
            os.close(self._descriptor)
            process = f"process {holder.strip()}" if holder.strip() else "a process"
            raise DirectoryInUse(f"{directory} is in use by {process}") from error
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let go. The file stays: removing it would race with the next holder."""
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)

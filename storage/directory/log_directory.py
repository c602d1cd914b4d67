"""A log directory: who may use it, how it was left, and what lies in it.

A partition lives in ``topic-partition``. A deleted one is first renamed to
``topic-partition.<32 hex>-delete``, its topic shortened if the name would be longer
than a file system takes; Kafka's ``-stray`` and ``-future`` directories look alike, the
last of which are partitions on their way here (`log_move`).
Anything else in a log directory is not ours: left alone, and reported.

The marker says that everything was synced and closed in order. It is believed once:
it is removed, durably, before anything else may change. The epoch file says with which
registration this directory was used by a broker of which nothing is lost that it has
told others, whatever stops it.
"""

import fcntl
import logging
import os
import re
from collections.abc import Callable
from contextlib import nullcontext, suppress
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from odradek.protocol.errors import KafkaStorageError
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import random_uuid
from odradek.storage.files.checkpoints import Checkpointed
from odradek.storage.files.files import MISSING, Files, StorageFailure
from odradek.storage.files.meta_properties import (
    META_PROPERTIES_NAME,
    BadMetaProperties,
    MetaProperties,
    read_meta_properties,
    write_meta_properties,
)
from odradek.storage.files.partition_metadata import (
    BadPartitionMetadata,
    read_partition_metadata,
)

from .checkpoints import DirectoryCheckpoints, DirectoryFailure, MakeLock
from .data_format import BadLogDirectory as BadLogDirectory
from .data_format import why_unreadable, with_this_format

if TYPE_CHECKING:
    from odradek.storage.cleaner.cleaner_checkpoint import CleanerCheckpoint

LOCK_NAME: Final = ".lock"
CLEAN_MARKER_NAME: Final = ".kafka_cleanshutdown"
EPOCH_NAME: Final = "odradek-broker-epoch"
CLEAN_MARKER: Final = b'{"version":0,"brokerEpoch":%d}'
NO_EPOCH: Final = -1
_EPOCH_IN_MARKER: Final = re.compile(rb'"brokerEpoch":(\d+)')
NAME_SIZE_MAX: Final = 255  # bytes, of a name in most file systems

_KRAFT_METADATA: Final = "__cluster_metadata-0"
_PARTITION = re.compile(r"([a-zA-Z0-9._-]+)-(\d+)", re.ASCII)
_SUFFIXED = re.compile(
    r"([a-zA-Z0-9._-]+)-(\d+)\.[0-9a-f]{32}-(delete|stray|future)", re.ASCII
)


_log = logging.getLogger(__name__)


class Releasable(Protocol):
    """A lock that is held."""

    def release(self) -> None:
        """Let go."""


TakeLock: TypeAlias = Callable[[Path], Releasable]


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


def suffixed_name(topic_partition: TopicPartition, kind: DirectoryKind) -> str:
    """A new name for the directory of a partition that is served no more."""
    suffix = f"-{topic_partition.partition}.{random_uuid().hex()}-{kind.value}"
    return topic_partition.topic[: NAME_SIZE_MAX - len(suffix)] + suffix


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
            raise DirectoryInUse(
                f"the directory {directory} is in use by {process}"
            ) from error
        os.ftruncate(self._descriptor, 0)
        with suppress(OSError):  # a full disk; the lock is held all the same
            os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let go, once. The file stays: removing it would race with the next holder.

        The number may be another file's by the second time.
        """
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            try:
                os.ftruncate(descriptor, 0)
            finally:
                os.close(descriptor)


class LogDirectory:
    """One of the broker's log directories.

    ``partitions`` are the directories of the partitions in it, ``deleted`` those that
    the broker before this one did not get to remove, ``futures`` those of partitions
    that it was moving here. ``was_clean`` says that it closed everything, or that there
    was none.
    """

    def __init__(
        self, files: Files, path: Path, make_lock: MakeLock = nullcontext
    ) -> None:
        self.path = path
        self.checkpoints = DirectoryCheckpoints(files, path, make_lock)
        self.partitions: dict[TopicPartition, Path] = {}
        self.deleted: dict[Path, TopicPartition] = {}
        self.futures: dict[Path, TopicPartition] = {}
        self.stray_count = 0  # directories that are kept for people to look at
        self.was_clean = False
        # Of the registration with controllers, that before and this one; mostly none.
        self.previous_broker_epoch = self.broker_epoch = NO_EPOCH
        self.directory_id: bytes | None = None
        self.failure: KafkaStorageError | None = None
        self._files = files
        self._lock: Releasable | None = None

    @cached_property
    def cleaner_checkpoint(self) -> "CleanerCheckpoint":
        """Up to where its logs were cleaned. Not needed to open the directory."""
        from odradek.storage.cleaner.cleaner_checkpoint import CleanerCheckpoint

        return CleanerCheckpoint(self._files, self.path)

    def open(self, cluster_id: str, node_id: int, take_lock: TakeLock) -> None:
        """Take possession of the directory, made if need be.

        Raises:
            DirectoryInUse: another process has it.
            BadLogDirectory: it is of another cluster or node, or of a newer odradek.
        """
        self._make()
        self._lock = take_lock(self.path)
        self._check_identity(cluster_id, node_id)
        self._list_names()
        self.checkpoints.load({*self.partitions, *self.futures.values()})
        marker = self.path / CLEAN_MARKER_NAME
        self.was_clean = self._files.exists(marker) or not (
            self.partitions or self.futures
        )
        self.previous_broker_epoch = max(
            map(self._epoch_in, (marker, self._epoch_path))
        )
        if not self.was_clean:
            _log.warning(
                "the last stop of %s was not a clean one (a restored backup had none):"
                " whatever its logs (%d) hold beyond what was durable is read and"
                " written again",
                self.path,
                len(self.partitions),
            )
        # Nothing may change in here while it is still said to be clean.
        self._files.unlink(marker)
        self._files.sync_directory(self.path)

    def release(self) -> None:
        """Let others use the directory."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def topic_id_of(self, topic_partition: TopicPartition) -> bytes | None:
        """The topic id in a partition's directory; None when that does not say."""
        return self._read_topic_id(self.partitions[topic_partition])

    def future_topic_id(self, path: Path) -> bytes | None:
        """The same of a future log."""
        return self._read_topic_id(path)

    def _read_topic_id(self, path: Path) -> bytes | None:
        try:
            return read_partition_metadata(self._files, path)
        except BadPartitionMetadata as error:
            _log.warning("%s", error)
            return None

    def checkpointed(self, topic_partition: TopicPartition) -> Checkpointed:
        """What is known of a log that is still to be loaded."""
        return self.checkpoints.checkpointed(topic_partition, was_clean=self.was_clean)

    def rename(self, topic_partition: TopicPartition, kind: DirectoryKind) -> Path:
        """Let a partition's directory be one to be removed, or a stray one.

        Raises:
            DirectoryFailure: it cannot be renamed, and is as it was.
        """
        path = self.path / suffixed_name(topic_partition, kind)
        try:
            self._files.rename(self.partitions[topic_partition], path)
        except (StorageFailure, *MISSING) as error:
            raise DirectoryFailure(self.path, error) from error
        self.stray_count += kind is DirectoryKind.STRAY
        del self.partitions[topic_partition]
        self.checkpoints.forget(topic_partition)
        self.cleaner_checkpoint.forget(topic_partition)
        return path

    def promote(self, path: Path) -> None:
        """Give a future log its name: the partition lives here now.

        Raises:
            KafkaStorageError: the disk fails.
        """
        topic_partition = self.futures[path]
        target = self.path / str(topic_partition)
        self._files.rename(path, target)
        self._files.sync_directory(self.path)
        del self.futures[path]
        self.partitions[topic_partition] = target

    def discard(self, path: Path) -> Path:
        """Let a future log be one to be removed; its new name.

        Raises:
            KafkaStorageError: the disk fails.
        """
        topic_partition = self.futures[path]
        target = self.path / suffixed_name(topic_partition, DirectoryKind.DELETE)
        self._files.rename(path, target)
        del self.futures[path]
        self.deleted[target] = topic_partition
        if topic_partition not in self.partitions:
            self.checkpoints.forget(topic_partition)
        return target

    @property
    def _epoch_path(self) -> Path:
        return self.path / EPOCH_NAME

    def keep_epoch(self) -> None:
        """Let the next start know the epoch, however this one ends. Waits for the disk.

        Raises:
            KafkaStorageError: it could not be written.
        """
        self._files.write_atomic(self._epoch_path, CLEAN_MARKER % self.broker_epoch)

    def mark_clean(self) -> None:
        """Say that everything in here is durable: the last thing to be done.

        Raises:
            KafkaStorageError: it could not be written, and does not say so.
        """
        marker = self.path / CLEAN_MARKER_NAME
        try:
            self._files.write_atomic(marker, CLEAN_MARKER % self.broker_epoch)
        except KafkaStorageError:
            self._files.unlink(marker)
            raise

    def _epoch_in(self, path: Path) -> int:
        """The epoch of a registration, as a marker or an epoch file says."""
        if not self._files.exists(path):
            return NO_EPOCH
        found = _EPOCH_IN_MARKER.search(self._files.read_bytes(path))
        return NO_EPOCH if found is None else int(found[1])

    def _make(self) -> None:
        """``mkdir -p`` that a power cut does not undo."""
        made = []
        path = self.path
        while not self._files.exists(path):
            made.append(path)
            path = path.parent
        self._files.mkdir(self.path)
        for path in made:
            self._files.sync_directory(path.parent)

    def _check_identity(self, cluster_id: str, node_id: int) -> None:
        try:
            found = read_meta_properties(self._files, self.path)
        except BadMetaProperties as error:
            raise BadLogDirectory(str(error)) from error
        if found is None:
            if any(map(parse_directory_name, self._files.listdir(self.path))):
                _log.warning("%s has logs and no %s", self.path, META_PROPERTIES_NAME)
            found = MetaProperties(cluster_id, node_id)
        elif found.cluster_id != cluster_id or found.node_id != node_id:
            raise BadLogDirectory(
                f"{self.path} belongs to node {found.node_id} of cluster"
                f" {found.cluster_id}, this is node {node_id} of {cluster_id}"
            )
        elif reason := why_unreadable(found):
            raise BadLogDirectory(f"{self.path} {reason}")
        ours = with_this_format(found)
        if found.directory_id is None:
            ours = ours._replace(directory_id=random_uuid())
        if ours != found:
            write_meta_properties(self._files, self.path, ours)
        self.directory_id = ours.directory_id

    def _list_names(self) -> None:
        for name in self._files.listdir(self.path):
            parsed = parse_directory_name(name)
            if parsed is None or name == _KRAFT_METADATA:
                continue
            if parsed.kind is DirectoryKind.LOG:
                self.partitions[parsed.topic_partition] = self.path / name
            elif parsed.kind is DirectoryKind.DELETE:
                self.deleted[self.path / name] = parsed.topic_partition
            elif parsed.kind is DirectoryKind.FUTURE:
                self.futures[self.path / name] = parsed.topic_partition
            else:
                self.stray_count += 1
                _log.warning("%s is left as it is", self.path / name)

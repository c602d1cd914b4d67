"""What lies in log directories that Apache Kafka wrote; nothing is changed.

Everything that a name or a small file says is read: whose directory it is, how it
was left, and of each partition the topic's id, the newest leader epoch, and whether
there ever were records.
"""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import contextmanager
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from odradek.broker.metadata.catalog.recovery import BACKUP, CATALOG
from odradek.broker.quorum.metadata_directory import METADATA_DIRECTORY
from odradek.protocol.record_batch import CURRENT_MAGIC, LOG_OVERHEAD
from odradek.storage.directory.log_directory import (
    CLEAN_MARKER_NAME,
    LOCK_NAME,
    DirectoryInUse,
    DirectoryKind,
    parse_directory_name,
)
from odradek.storage.files.checkpoints import read_epochs
from odradek.storage.files.meta_properties import (
    META_PROPERTIES_NAME,
    BadMetaProperties,
    read_meta_properties,
)
from odradek.storage.files.partition_metadata import (
    PARTITION_METADATA_NAME,
    BadPartitionMetadata,
    read_partition_metadata,
)
from odradek.storage.formats.checkpoint import CheckpointError

from .metadata import AdoptionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from odradek.protocol.topic_partition import TopicPartition
    from odradek.storage.files.files import Files
    from odradek.storage.files.meta_properties import MetaProperties

_VERSION = re.compile(rb"version:\s*(\d+)")
# offset int64, size int32, crc uint32 of what follows it, magic int8.
_OLD_MESSAGE = Struct(">qiIb")
_OLD_MAGIC_AT = 16
_LOG = re.compile(r"(\d{20})\.log", re.ASCII)
NO_EPOCH = -1


class PartitionDirectory(NamedTuple):
    """A partition's directory. ``topic_id`` is None when it does not say."""

    path: Path
    topic_partition: TopicPartition
    topic_id: bytes | None
    leader_epoch: int
    has_records: bool


class Survey(NamedTuple):
    """What was found in all the log directories of one broker."""

    identity: MetaProperties
    directory_ids: frozenset[bytes]
    partitions: dict[TopicPartition, PartitionDirectory]
    set_aside: list[Path]
    unclean: list[Path]


def survey(files: Files, directories: Sequence[Path], notes: list[str]) -> Survey:
    """Look at the log directories of a broker that has stopped.

    Raises:
        AdoptionError: they cannot be taken over; see the message.
    """
    identities = [_identity(files, directory) for directory in directories]
    identity = _agreed(directories, identities)
    found = Survey(
        identity,
        frozenset(each.directory_id for each in identities if each.directory_id),
        {},
        [],
        [each for each in directories if not files.exists(each / CLEAN_MARKER_NAME)],
    )
    for directory in directories:
        _survey_directory(files, directory, found, notes)
    return found


def _identity(files: Files, directory: Path) -> MetaProperties:
    if not directory.is_dir():
        raise AdoptionError(f"{directory} is not a directory")
    check_no_catalog(files, directory)
    identity = read_identity(files, directory)
    if identity is None:
        raise AdoptionError(
            f"{directory} has no meta.properties: it is not a log directory of Apache"
            " Kafka"
        )
    return identity


def check_no_catalog(files: Files, directory: Path) -> None:
    """See that ``directory`` has no catalogue yet.

    Raises:
        AdoptionError: it has one.
    """
    for name in (CATALOG, BACKUP):
        if files.exists(directory / name):
            raise AdoptionError(
                f"{directory} has a catalogue already ({name}): it was adopted before,"
                " or made by odradek"
            )


def check_same_cluster(files: Files, directory: Path, identity: MetaProperties) -> None:
    """See that the directory with the metadata log is of the same cluster.

    Raises:
        AdoptionError: it is that of another one.
    """
    other = read_identity(files, directory)
    if other is not None and other.cluster_id != identity.cluster_id:
        raise AdoptionError(
            f"the metadata in {directory} are those of cluster {other.cluster_id},"
            f" the logs belong to {identity.cluster_id}"
        )


def read_identity(files: Files, directory: Path) -> MetaProperties | None:
    """What ``meta.properties`` says; None when there is none.

    Raises:
        AdoptionError: it cannot be read.
    """
    try:
        identity = read_meta_properties(files, directory)
    except BadMetaProperties as error:
        raise AdoptionError(str(error)) from error
    if identity is not None and not identity.cluster_id:
        raise AdoptionError(f"{directory / META_PROPERTIES_NAME}: cluster.id is empty")
    return identity


def _agreed(
    directories: Sequence[Path], identities: list[MetaProperties]
) -> MetaProperties:
    first = identities[0]
    for directory, identity in zip(directories, identities, strict=True):
        if identity.cluster_id != first.cluster_id:
            raise AdoptionError(
                f"{directory} belongs to cluster {identity.cluster_id},"
                f" {directories[0]} to {first.cluster_id}"
            )
        if identity.node_id != first.node_id:
            raise AdoptionError(
                f"{directory} belongs to node {identity.node_id},"
                f" {directories[0]} to node {first.node_id}"
            )
    return first


def _survey_directory(
    files: Files, directory: Path, found: Survey, notes: list[str]
) -> None:
    for name in files.listdir(directory):
        path = directory / name
        parsed = parse_directory_name(name)
        if parsed is None or name == METADATA_DIRECTORY or not path.is_dir():
            continue
        if parsed.kind is not DirectoryKind.LOG:
            found.set_aside.append(path)
            continue
        topic_partition = parsed.topic_partition
        if topic_partition in found.partitions:
            other = found.partitions[topic_partition].path
            raise AdoptionError(f"{topic_partition} is in {path} and in {other}")
        found.partitions[topic_partition] = PartitionDirectory(
            path,
            topic_partition,
            _topic_id(files, path, notes),
            _leader_epoch(files, path, notes),
            _has_records(files, path),
        )


def _topic_id(files: Files, path: Path, notes: list[str]) -> bytes | None:
    try:
        topic_id = read_partition_metadata(files, path)
    except BadPartitionMetadata as error:
        version = _VERSION.search(files.read_bytes(path / PARTITION_METADATA_NAME))
        if version is not None and int(version[1]) > 0:
            raise AdoptionError(f"{error}: it was written by a newer Kafka") from error
        notes.append(f"{error}; the topic's id is taken from elsewhere")
        return None
    if topic_id is None:
        notes.append(
            f"{path} has no partition.metadata; it is kept, as a partition of the"
            " topic in its name"
        )
    return topic_id


def _leader_epoch(files: Files, path: Path, notes: list[str]) -> int:
    try:
        epochs = read_epochs(files, path)
    except CheckpointError as error:
        notes.append(f"{error}; the epochs are taken from the log")
        return NO_EPOCH
    return max((entry.epoch for entry in epochs), default=NO_EPOCH)


def _has_records(files: Files, path: Path) -> bool:
    """Whether there are records, or were before they were deleted."""
    has_records = False
    for name in filter(_LOG.fullmatch, files.listdir(path)):
        if int(name[:20]) > 0 or files.size(path / name) > 0:
            has_records = True
            _check_format(files, path / name)
    return has_records


def _check_format(files: Files, path: Path) -> None:
    """See that a segment does not begin with messages of before Kafka 0.11.

    Those would look like damage. Their checksum tells them from a batch whose magic
    byte is damaged.
    """
    log = files.open(path)
    start = bytes(log.read_at(0, _OLD_MESSAGE.size))
    if len(start) == _OLD_MESSAGE.size:
        _, size, crc, magic = _OLD_MESSAGE.unpack(start)
        if magic < CURRENT_MAGIC and 0 < size <= log.size - LOG_OVERHEAD:
            message = log.read_at(_OLD_MAGIC_AT, LOG_OVERHEAD + size - _OLD_MAGIC_AT)
            if crc32(message) == crc:
                raise AdoptionError(
                    f"{path} holds messages of format {magic}, from before Kafka 0.11;"
                    f" only format {CURRENT_MAGIC} can be served: copy the topic with"
                    " a newer producer, or move its directories away"
                )
    log.close()


@contextmanager
def held(directories: Sequence[Path]) -> Iterator[None]:
    """Keep every broker out of the directories, without writing into their locks.

    A directory without a lock file was never opened by a broker, and none is made.

    Raises:
        DirectoryInUse: a broker has one of them.
    """
    descriptors: list[int] = []
    try:
        for directory in directories:
            path = directory / LOCK_NAME
            if not path.is_file():
                continue
            descriptors.append(os.open(path, os.O_RDWR | os.O_CLOEXEC))
            try:
                fcntl.flock(descriptors[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
                fcntl.lockf(descriptors[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise DirectoryInUse(
                    f"{directory} is in use by a broker; stop it first"
                ) from error
        yield
    finally:
        for descriptor in descriptors:
            os.close(descriptor)

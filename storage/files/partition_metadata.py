"""``partition.metadata`` of a partition's directory: of which topic it is.

A log without it is nobody's to Apache Kafka, which puts it aside: so it is there before
the first record, whole or not at all. ``formats.partition_metadata`` has its layout.
"""

from contextlib import suppress
from pathlib import Path

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.formats.partition_metadata import (
    PARTITION_METADATA_NAME,
    BadPartitionMetadata,
    format_partition_metadata,
    parse_partition_metadata,
)

from .files import File, Files, StorageFailure

__all__ = [
    "PARTITION_METADATA_NAME",
    "BadPartitionMetadata",
    "begin_partition_metadata",
    "format_partition_metadata",
    "parse_partition_metadata",
    "read_partition_metadata",
    "write_partition_metadata",
]


def read_partition_metadata(files: Files, directory: Path) -> bytes | None:
    """The topic id of the partition in ``directory``; None when there is no file.

    Raises:
        BadPartitionMetadata: the file cannot be read.
    """
    path = directory / PARTITION_METADATA_NAME
    try:
        return parse_partition_metadata(files.read_bytes(path))
    except FileNotFoundError:
        return None
    except BadPartitionMetadata as error:
        raise BadPartitionMetadata(f"{path}: {error}") from error


def write_partition_metadata(files: Files, directory: Path, topic_id: bytes) -> None:
    """Write the file, durably."""
    path = directory / PARTITION_METADATA_NAME
    files.write_atomic(path, format_partition_metadata(topic_id))


def begin_partition_metadata(
    files: Files, directory: Path, topic_id: bytes
) -> File | None:
    """Write the file for a new log; it is durable when what is returned is synced.

    None when there is no room for it now.

    Raises:
        StorageFailure: the disk fails.
    """
    path = directory / PARTITION_METADATA_NAME
    temporary = directory / f"{PARTITION_METADATA_NAME}.tmp"
    try:
        file = files.open(temporary, create=True)
        file.append(format_partition_metadata(topic_id))
    except StorageFailure:
        raise
    except KafkaStorageError:  # no room, or too many open files
        with suppress(FileNotFoundError):
            files.unlink(temporary)
        return None
    files.rename(temporary, path)
    file.path = path
    return file

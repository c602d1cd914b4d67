"""``partition.metadata`` of a partition's directory, read and written durably.

``formats.partition_metadata`` has its layout.
"""

from pathlib import Path

from .files import Files
from .formats.partition_metadata import (
    PARTITION_METADATA_NAME,
    BadPartitionMetadata,
    format_partition_metadata,
    parse_partition_metadata,
)

__all__ = [
    "PARTITION_METADATA_NAME",
    "BadPartitionMetadata",
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

"""The ``.snapshot`` files: the producers of a partition as they were at an offset.

The name is the offset: the state holds everything below it. ``formats.producer_entry``
has the layout. A snapshot that cannot be read is no loss: the log is replayed from an
older one.
"""

import logging
from pathlib import Path
from typing import NamedTuple

from odradek.storage.files.files import Files
from odradek.storage.formats.producer_entry import (
    ProducerEntry,
    packed_entries,
    parse_producers,
)
from odradek.storage.values.log_lines import LogLines

SUFFIX = ".snapshot"

_log = logging.getLogger(__name__)


class SnapshotCorrupt(Exception):
    """The file is not a producer snapshot, or not a whole one."""


def snapshot_name(offset: int) -> str:
    """The file name of the snapshot at ``offset``."""
    return f"{offset:020d}{SUFFIX}"


def snapshot_path(directory: Path, offset: int) -> Path:
    """Where the snapshot at ``offset`` lies."""
    return directory / snapshot_name(offset)


def snapshot_offset(name: str) -> int | None:
    """The offset in a snapshot's file name; None for any other file."""
    stem = name.removesuffix(SUFFIX)
    if stem == name or len(stem) != 20 or not stem.isdecimal():
        return None
    return int(stem)


def list_snapshots(files: Files, directory: Path) -> list[int]:
    """The offsets of the snapshots in a partition's directory, ascending."""
    offsets = map(snapshot_offset, files.listdir(directory))
    return sorted(offset for offset in offsets if offset is not None)


def decode_snapshot(data: bytes) -> list[ProducerEntry]:
    """The producers in a snapshot file.

    Raises:
        SnapshotCorrupt: version, CRC or length are not right.
    """
    try:
        return parse_producers(data)
    except ValueError as error:
        raise SnapshotCorrupt(str(error)) from None


class ReadSnapshot(NamedTuple):
    """What a snapshot file held: the producers as they were at ``offset``."""

    offset: int
    packed: memoryview


def read_newest(files: Files, directory: Path, limit: int) -> ReadSnapshot | None:
    """The newest snapshot at or below ``limit`` that can be read; None without any.

    One that cannot be read is removed with a warning, and the one before it tried.
    """
    for offset in reversed(list_snapshots(files, directory)):
        if offset > limit:
            continue
        path = snapshot_path(directory, offset)
        try:
            return ReadSnapshot(offset, packed_entries(files.read_bytes(path)))
        except ValueError as error:
            LogLines(_log, directory).warning(
                "%s is damaged (%s): removed", path.name, error
            )
            files.unlink(path)
    return None

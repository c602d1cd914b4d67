"""``manifest.json``: what a backup holds, so that it can be told whether it is whole.

An object in JSON; ``crc32c`` is the checksum of the rest, written with sorted keys
and no spaces. The file is written last: without it there is no backup.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from odradek.protocol.checksum import crc32c
from odradek.storage.files.files import Files

MANIFEST_NAME: Final = "manifest.json"
BACKUP_FORMAT: Final = 1
_CHECKSUM: Final = "crc32c"


class BadBackup(Exception):
    """There is no backup, or one that cannot be used; the message says why."""


@dataclass(frozen=True)
class BackedUpPartition:
    """A partition, the number of its log directory, and its offsets."""

    topic: str
    partition: int
    directory: int
    start_offset: int
    end_offset: int


@dataclass(frozen=True)
class BackedUpFile:
    """A file by its path in the backup, with its size and CRC-32C."""

    path: str
    size: int
    crc32c: int


@dataclass(frozen=True)
class Damage:
    """What fsck calls damage in a file, or a directory, of the backup."""

    path: str
    code: str
    message: str


@dataclass(frozen=True)
class Manifest:
    """What the file says. ``directories`` are the log directories as they were called.

    ``data_format`` is that of the data, ``odradek`` the version that made the backup,
    ``made`` the moment of the cut (UTC), ``missing`` why partitions are not in it.
    """

    odradek: str
    made: str
    cluster_id: str
    node_id: int
    was_running: bool
    data_format: int
    directories: Sequence[str]
    partitions: Sequence[BackedUpPartition]
    files: Sequence[BackedUpFile]
    damage: Sequence[Damage] = ()
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(each.size for each in self.files)


def write_manifest(files: Files, backup: Path, manifest: Manifest) -> None:
    """Write it, durably."""
    content = {"backup_format": BACKUP_FORMAT, **asdict(manifest)}
    content[_CHECKSUM] = _checksum(content)
    text = json.dumps(content, indent=1)
    files.write_atomic(backup / MANIFEST_NAME, f"{text}\n".encode())


def read_manifest(files: Files, backup: Path) -> Manifest:
    """What the manifest of a backup says.

    Raises:
        BadBackup: there is none, it is damaged, or of a newer odradek.
    """
    path = backup / MANIFEST_NAME
    try:
        content = json.loads(files.read_bytes(path))
    except (FileNotFoundError, NotADirectoryError):
        raise BadBackup(
            f"{backup} is not a backup: it has no {MANIFEST_NAME}"
        ) from None
    except ValueError as error:
        raise BadBackup(f"{path} is damaged: {error}") from None
    if not isinstance(content, dict):
        raise BadBackup(f"{path} is not the manifest of a backup")
    number = content.get("backup_format")
    if isinstance(number, int) and number > BACKUP_FORMAT:
        raise BadBackup(
            f"{backup} has backup format {number}, written by odradek "
            f"{content.get('odradek')}; this one reads formats up to {BACKUP_FORMAT}"
        )
    checksum = content.pop(_CHECKSUM, None)
    if checksum != _checksum(content):
        raise BadBackup(f"{path} is damaged: its checksum does not match")
    del content["backup_format"]
    return _parsed(content)


def _parsed(content: dict[str, Any]) -> Manifest:
    return Manifest(
        **{
            **content,
            "partitions": [BackedUpPartition(**each) for each in content["partitions"]],
            "files": [BackedUpFile(**each) for each in content["files"]],
            "damage": [Damage(**each) for each in content["damage"]],
        }
    )


def _checksum(content: Mapping[str, Any]) -> int:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return crc32c(text.encode())

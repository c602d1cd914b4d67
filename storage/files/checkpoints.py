"""The checkpoint files: offsets of all partitions of a log directory, epochs of one.

They are replaced whole and atomically. A file that is not there, or is empty (Kafka
leaves such), has no entries.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.formats.checkpoint import (
    CheckpointError,
    EpochEntry,
    format_offsets,
    parse_epochs,
    parse_offsets,
)

from .files import Files

RECOVERY_POINTS_NAME: Final = "recovery-point-offset-checkpoint"
LOG_STARTS_NAME: Final = "log-start-offset-checkpoint"
HIGH_WATERMARKS_NAME: Final = "replication-offset-checkpoint"
CLEANER_OFFSETS_NAME: Final = "cleaner-offset-checkpoint"
EPOCHS_NAME: Final = "leader-epoch-checkpoint"

_Entries = TypeVar("_Entries")


class Checkpointed(NamedTuple):
    """What the checkpoints of its directory say of a log.

    ``was_clean``: it was closed in order, so its files can be believed.
    """

    was_clean: bool
    recovery_point: int = 0
    log_start_offset: int = 0


def read_offsets(files: Files, path: Path) -> dict[TopicPartition, int]:
    """The offsets in a checkpoint of a log directory.

    Raises:
        CheckpointError: the file cannot be read; the message names file and line.
    """
    return _read(files, path, parse_offsets)


def write_offsets(
    files: Files, path: Path, offsets: Mapping[TopicPartition, int]
) -> None:
    """Replace a checkpoint of a log directory, durably."""
    files.write_atomic(path, format_offsets(offsets).encode())


def read_epochs(files: Files, directory: Path) -> list[EpochEntry]:
    """The leader epochs of the partition in ``directory``.

    Raises:
        CheckpointError: the file cannot be read; the message names file and line.
    """
    return _read(files, directory / EPOCHS_NAME, parse_epochs)


def _read(files: Files, path: Path, parse: Callable[[str], _Entries]) -> _Entries:
    try:
        text = files.read_bytes(path).decode()
    except FileNotFoundError:
        text = ""
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{path}: not text") from error
    try:
        return parse(text)
    except CheckpointError as error:
        raise CheckpointError(f"{path}, {error}") from None

"""The ``.snapshot`` files: the producers of a partition as they were at an offset.

The name is the offset: the state holds everything below it. ``formats.producer_entry``
has the layout. A snapshot that cannot be read is no loss: the log is replayed from an
older one.
"""

from collections.abc import Iterable
from pathlib import Path

from .files import Files
from .formats.producer_entry import ProducerEntry, pack_producers, parse_producers
from .producer_state import BatchMetadata, ProducerState

SUFFIX = ".snapshot"


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


def encode_snapshot(producers: Iterable[ProducerState]) -> bytes:
    """The content of a snapshot file."""
    return pack_producers(map(_entry, producers))


def decode_snapshot(data: bytes) -> list[ProducerState]:
    """The producers in a snapshot file.

    Raises:
        SnapshotCorrupt: version, CRC or length are not right.
    """
    try:
        return list(map(_state, parse_producers(data)))
    except ValueError as error:
        raise SnapshotCorrupt(str(error)) from None


def _entry(state: ProducerState) -> ProducerEntry:
    batch = state.batches[-1] if state.batches else BatchMetadata(-1, -1, 0, -1)
    return ProducerEntry(
        state.producer_id,
        state.producer_epoch,
        batch.last_sequence,
        batch.last_offset,
        batch.offset_delta,
        state.last_timestamp,
        state.coordinator_epoch,
        state.current_txn_first_offset,
    )


def _state(entry: ProducerEntry) -> ProducerState:
    state = ProducerState(
        entry.producer_id,
        entry.producer_epoch,
        entry.coordinator_epoch,
        entry.timestamp,
        entry.current_txn_first_offset,
    )
    if entry.last_offset >= 0:
        batch = BatchMetadata(
            entry.last_sequence, entry.last_offset, entry.offset_delta, entry.timestamp
        )
        state.batches.append(batch)
    return state

"""The ``.snapshot`` files: the producers of a partition as they were at an offset.

The name is the offset: the state holds everything below it. Layout (``spec`` B1.8,
big-endian): version int16 = 1, CRC-32C uint32 of all that follows it, count int32,
then for each producer

    producer_id int64, producer_epoch int16, last_sequence int32, last_offset int64,
    offset_delta int32, timestamp int64, coordinator_epoch int32,
    current_txn_first_offset int64 (-1: none)

A producer without a batch (after a marker with a new epoch) has last_offset -1.
A snapshot that cannot be read is no loss: the log is replayed from an older one.
"""

from collections.abc import Iterable
from pathlib import Path
from struct import Struct

from protocol.checksum import crc32c

from .files import Files
from .producer_state import BatchMetadata, ProducerState

SUFFIX = ".snapshot"
_VERSION = 1
_HEADER = Struct(">hIi")
_CRC_END = 6
_ENTRY = Struct(">qhiqiqiq")


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
    entries = b"".join(map(_encode_entry, producers))
    count = len(entries) // _ENTRY.size
    body = count.to_bytes(4, "big") + entries
    return _HEADER.pack(_VERSION, crc32c(body), count) + entries


def decode_snapshot(data: bytes) -> list[ProducerState]:
    """The producers in a snapshot file.

    Raises:
        SnapshotCorrupt: version, CRC or length are not right.
    """
    if len(data) < _HEADER.size:
        raise SnapshotCorrupt(f"{len(data)} bytes are too few for a snapshot")
    version, crc, count = _HEADER.unpack_from(data)
    if version != _VERSION:
        raise SnapshotCorrupt(f"version {version}, expected {_VERSION}")
    if crc32c(data[_CRC_END:]) != crc:
        raise SnapshotCorrupt("the checksum is wrong")
    if len(data) != _HEADER.size + count * _ENTRY.size:
        raise SnapshotCorrupt(f"{len(data)} bytes cannot hold {count} producers")
    return [_decode_entry(data, index) for index in range(count)]


def _encode_entry(state: ProducerState) -> bytes:
    batch = state.batches[-1] if state.batches else BatchMetadata(-1, -1, 0, -1)
    return _ENTRY.pack(
        state.producer_id,
        state.producer_epoch,
        batch.last_sequence,
        batch.last_offset,
        batch.offset_delta,
        state.last_timestamp,
        state.coordinator_epoch,
        state.current_txn_first_offset,
    )


def _decode_entry(data: bytes, index: int) -> ProducerState:
    (
        producer_id,
        producer_epoch,
        last_sequence,
        last_offset,
        offset_delta,
        timestamp,
        coordinator_epoch,
        first_offset,
    ) = _ENTRY.unpack_from(data, _HEADER.size + index * _ENTRY.size)
    state = ProducerState(
        producer_id, producer_epoch, coordinator_epoch, timestamp, first_offset
    )
    if last_offset >= 0:
        batch = BatchMetadata(last_sequence, last_offset, offset_delta, timestamp)
        state.batches.append(batch)
    return state

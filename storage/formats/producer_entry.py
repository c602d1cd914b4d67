"""The producers in a ``.snapshot`` file, as they were at the offset in its name.

The layout (``spec`` B1.8, big-endian): version int16 = 1, CRC-32C uint32 of all that
follows it, count int32, then for each producer

    producer_id int64, producer_epoch int16, last_sequence int32, last_offset int64,
    offset_delta int32, timestamp int64, coordinator_epoch int32,
    current_txn_first_offset int64 (-1: none)

A producer without a batch (after a marker with a new epoch) has last_offset -1.
"""

from collections.abc import Iterable
from struct import Struct
from typing import NamedTuple

from protocol.checksum import crc32c

_VERSION = 1
_HEADER = Struct(">hIi")
_CRC_END = 6
_ENTRY = Struct(">qhiqiqiq")


class ProducerEntry(NamedTuple):
    """One producer, with the last of its batches."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int


def pack_producers(entries: Iterable[ProducerEntry]) -> bytes:
    """The content of a snapshot file."""
    packed = b"".join(_ENTRY.pack(*entry) for entry in entries)
    count = len(packed) // _ENTRY.size
    body = count.to_bytes(4, "big") + packed
    return _HEADER.pack(_VERSION, crc32c(body), count) + packed


def parse_producers(data: bytes) -> list[ProducerEntry]:
    """The producers in a snapshot file.

    Raises:
        ValueError: version, CRC or length are not right.
    """
    if len(data) < _HEADER.size:
        raise ValueError(f"{len(data)} bytes are too few for a snapshot")
    version, crc, count = _HEADER.unpack_from(data)
    if version != _VERSION:
        raise ValueError(f"version {version}, expected {_VERSION}")
    if crc32c(data[_CRC_END:]) != crc:
        raise ValueError("the checksum is wrong")
    if len(data) != _HEADER.size + count * _ENTRY.size:
        raise ValueError(f"{len(data)} bytes cannot hold {count} producers")
    entries = _ENTRY.iter_unpack(memoryview(data)[_HEADER.size :])
    return [ProducerEntry(*fields) for fields in entries]

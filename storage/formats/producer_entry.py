"""The producers in a ``.snapshot`` file, as they were at the offset in its name.

The layout (Kafka's, big-endian): version int16 = 1, CRC-32C uint32 of all that
follows it, count int32, then for each producer

    producer_id int64, producer_epoch int16, last_sequence int32, last_offset int64,
    offset_delta int32, timestamp int64, coordinator_epoch int32,
    current_txn_first_offset int64 (-1: none)

A producer without a batch (after a marker with a new epoch) has last_offset -1.
"""

from collections.abc import Iterable, Iterator, Sequence
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.protocol.checksum import crc32c

if TYPE_CHECKING:
    from typing_extensions import Buffer

_VERSION = 1
_HEADER = Struct(">hIi")
_CRC_END = 6
_ENTRY = Struct(">qhiqiqiq")

ENTRY_SIZE: Final = _ENTRY.size


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


# Into a buffer, at a position: the eight fields.
pack_entry_into = _ENTRY.pack_into


def unpack_entries(packed: "Buffer") -> Iterator[ProducerEntry]:
    """The entries in ``packed``, which holds nothing else."""
    return map(ProducerEntry._make, _ENTRY.iter_unpack(packed))


def snapshot_header(pieces: Sequence["bytes | bytearray"]) -> bytes:
    """What is in front of the packed entries, which may come in pieces."""
    count = sum(map(len, pieces)) // ENTRY_SIZE
    crc = crc32c(count.to_bytes(4, "big"))
    for piece in pieces:
        crc = crc32c(piece, crc)
    return _HEADER.pack(_VERSION, crc, count)


def pack_producers(entries: Iterable[ProducerEntry]) -> bytes:
    """The content of a snapshot file."""
    packed = b"".join(_ENTRY.pack(*entry) for entry in entries)
    return snapshot_header([packed]) + packed


def packed_entries(data: "Buffer") -> memoryview:
    """The entries of a snapshot file as they lie in it.

    Raises:
        ValueError: version, CRC or length are not right.
    """
    view = memoryview(data)
    if len(view) < _HEADER.size:
        raise ValueError(f"{len(view)} bytes are too few for a snapshot")
    version, crc, count = _HEADER.unpack_from(view)
    if version != _VERSION:
        raise ValueError(f"version {version}, expected {_VERSION}")
    if crc32c(view[_CRC_END:]) != crc:
        raise ValueError("the checksum is wrong")
    if len(view) != _HEADER.size + count * _ENTRY.size:
        raise ValueError(f"{len(view)} bytes cannot hold {count} producers")
    return view[_HEADER.size :]


def parse_producers(data: "Buffer") -> list[ProducerEntry]:
    """The producers in a snapshot file.

    Raises:
        ValueError: version, CRC or length are not right.
    """
    return list(unpack_entries(packed_entries(data)))

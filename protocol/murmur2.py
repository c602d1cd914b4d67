"""Which partition a record goes to by its key, as Java's client does it.

Records of one key must meet in one partition whoever writes them, so the hash is
that of Apache Kafka's own client (KIP-794 left it as it was). librdkafka's default is
another one (CRC-32); there ``partitioner=murmur2_random`` agrees with us.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

_SEED = 0x9747B28C
_FACTOR = 0x5BD1E995
_MASK = 0xFFFFFFFF
_POSITIVE = 0x7FFFFFFF


def murmur2(data: Buffer) -> int:
    """The hash of Java's client, as an unsigned number of 32 bits."""
    data = bytes(data)
    size = len(data)
    hashed = _SEED ^ size
    for (part,) in struct.iter_unpack("<I", data[: size & ~3]):
        part = part * _FACTOR & _MASK
        part = (part ^ part >> 24) * _FACTOR & _MASK
        hashed = (hashed * _FACTOR & _MASK) ^ part
    if rest := data[size & ~3 :]:
        hashed = (hashed ^ int.from_bytes(rest, "little")) * _FACTOR & _MASK
    hashed = (hashed ^ hashed >> 13) * _FACTOR & _MASK
    return hashed ^ hashed >> 15


def partition_of_key(key: Buffer, count: int) -> int:
    """The partition, of ``count``, in which Java's client writes records of a key."""
    return (murmur2(key) & _POSITIVE) % count

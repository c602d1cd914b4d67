"""Which partition a record goes to: by its key as Java's client does, else sticky.

Records of one key must meet in one partition whoever writes them, so the hash is
that of Apache Kafka's own client (murmur2, KIP-794 left it as it was). librdkafka's
default is another one (CRC-32); there ``partitioner=murmur2_random`` agrees with us.
"""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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


class StickyPartition:
    """The partition of one topic for records without a key (KIP-480).

    It stays until a batch is full: one large batch costs less than many small ones.
    """

    def __init__(self, choice: Callable[[Sequence[int]], int] = random.choice) -> None:
        self._choice = choice
        self._current: int | None = None

    def current(self, available: Sequence[int]) -> int:
        """The one for the next record, of those that have a leader."""
        if self._current not in available:
            self._current = self._choice(available)
        assert self._current is not None
        return self._current

    def move_on(self, available: Sequence[int]) -> None:
        """A batch is full: another partition, if there is one."""
        others = [number for number in available if number != self._current]
        self._current = self._choice(others) if others else None

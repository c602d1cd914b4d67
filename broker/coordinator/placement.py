"""Which partition of a coordinator's topic a group or transactional id belongs to."""

from __future__ import annotations

from functools import lru_cache

_INT32_MIN = -(1 << 31)


def java_string_hash(text: str) -> int:
    """What Java's ``String.hashCode`` gives: 31 h + c over UTF-16 units, 32 bits."""
    hashed = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        hashed = (31 * hashed + (high << 8 | low)) & 0xFFFFFFFF
    return hashed - (1 << 32) if hashed >= 1 << 31 else hashed


@lru_cache(maxsize=10_000)  # every request of a group asks for it
def partition_for(key: str, partition_count: int) -> int:
    """The partition of ``key``; Kafka's ``abs`` takes the smallest integer to 0."""
    hashed = java_string_hash(key)
    return 0 if hashed == _INT32_MIN else abs(hashed) % partition_count

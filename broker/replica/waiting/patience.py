"""How long an answer may wait for a disk, and for other brokers.

The patience that a client states is for other brokers: whether they follow is nothing
that we could know. Our own disk takes what was written, or fails; it gets some seconds
for that in any case, as an answer "timed out" would be of records that are there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.broker.replica.partition.partition import Partition

DISK_TIMEOUT_MS = 5_000


def append_timeout_ms(partition: Partition, timeout_ms: int) -> int:
    """How long an append to ``partition`` waits when its client says ``timeout_ms``."""
    if partition.replication is None and timeout_ms < DISK_TIMEOUT_MS:
        return DISK_TIMEOUT_MS
    return timeout_ms

"""How much of what is there a micro-batch takes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from odradek.protocol.topic_partition import TopicPartition


def limited(
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    offsets_max: int,
) -> dict[TopicPartition, int]:
    """Ends that are at most ``offsets_max`` offsets away, all partitions together.

    Each partition in which something waits gets one, if there are enough of them, and
    of the rest as large a part as it has of what waits; what rounding leaves goes to
    those with the most.
    """
    waiting = {place: max(0, ends[place] - starts[place]) for place in ends}
    if sum(waiting.values()) <= offsets_max:
        return dict(ends)
    least = 1 if offsets_max >= sum(size > 0 for size in waiting.values()) else 0
    shares = {place: min(least, size) for place, size in waiting.items()}
    rest = {place: size - shares[place] for place, size in waiting.items()}
    total, left = sum(rest.values()), offsets_max - sum(shares.values())
    for place, size in rest.items():
        shares[place] += left * size // total
    left = offsets_max - sum(shares.values())
    for place in sorted(rest, key=lambda place: (-rest[place], place))[:left]:
        shares[place] += 1
    return {place: starts[place] + shares[place] for place in ends}


class Gate:
    """Lets a micro-batch wait for ``offsets_min``, but not for longer than a delay."""

    def __init__(
        self, delay_ms: int, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._delay_s = delay_ms / 1000
        self._monotonic = monotonic
        self._last: float | None = None

    def opens(self, waiting: int, offsets_min: int) -> bool:
        """Whether what waits is enough, or has waited long enough."""
        now = self._monotonic()
        is_late = self._last is None or now - self._last >= self._delay_s
        if waiting < offsets_min and not is_late:
            return False
        self._last = now
        return True

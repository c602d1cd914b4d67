"""What compaction may take of memory, processes and the disk."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

# The default of the option is the largest number that there is.
_UNLIMITED_FROM = 1e15


class CleaningLimits(NamedTuple):
    """What all rounds together may take; each has an equal share of it.

    ``map_size`` is the memory for keys in bytes, filled up to ``load_factor``;
    ``rounds_max`` how many rounds there are at a time; ``bytes_per_second`` what is
    read and written.
    """

    map_size: int
    rounds_max: int = 1
    bytes_per_second: float = inf
    load_factor: float = 0.9

    @property
    def map_size_of_round(self) -> int:
        """One round's share of the memory."""
        return self.map_size // max(self.rounds_max, 1)

    @property
    def rate_of_round(self) -> float:
        """One round's share of the bytes a second."""
        if self.bytes_per_second >= _UNLIMITED_FROM:
            return inf
        return self.bytes_per_second / max(self.rounds_max, 1)

"""Which partition records without a key go to: one for a while, then another."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


# The batch.size of Java's client, whatever ours is: so a topic of some partitions gets
# its records as evenly as from a stock producer.
_STICKY_SIZE = 16 << 10


class StickyPartition:
    """The partition of one topic for records without a key (KIP-480, KIP-794).

    It stays until a batch is full, or until it was given so many bytes: few large
    batches cost less than many small ones. That some time has passed changes nothing:
    who writes fast would else have all in the partition of one moment.
    """

    def __init__(
        self,
        choice: Callable[[Sequence[int]], int] = random.choice,
        sticky_size: int = _STICKY_SIZE,
    ) -> None:
        self._choice = choice
        self._sticky_size = sticky_size
        self._current: int | None = None
        self._size = 0

    def current(self, available: Sequence[int]) -> int:
        """The one for the next record, of those that have a leader."""
        if self._size >= self._sticky_size:
            self.move_on(available)
        if self._current not in available:
            self._current = self._choice(available)
        assert self._current is not None
        return self._current

    def took(self, size: int) -> None:
        """The current one was given so many bytes."""
        self._size += size

    def move_on(self, available: Sequence[int]) -> None:
        """A batch is full: another partition, if there is one."""
        self._size = 0
        others = [number for number in available if number != self._current]
        self._current = self._choice(others) if others else None

"""Which partition records without a key go to: one, until a batch is full."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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

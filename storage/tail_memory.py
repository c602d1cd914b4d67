"""How much the logs may keep in memory of what was appended to them last."""

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .log_tail import LogTail


class TailMemory:
    """What the tails of all logs may keep alive together, in bytes."""

    def __init__(self, size_max: int) -> None:
        self.size_max = size_max
        self.size = 0
        # The tail of each batch that was added. Some of these are no more.
        self._order: deque[LogTail] = deque()

    def note(self, tail: "LogTail", size: int) -> None:
        """Count a batch that ``tail`` keeps from now on; others give way to it."""
        self.size += size
        self._order.append(tail)
        if self.size > self.size_max:
            self._make_room()

    def resize(self, size_max: int) -> None:
        """Allow that much from now on."""
        self.size_max = size_max
        self._make_room()

    def _make_room(self) -> None:
        while self.size > self.size_max:
            self._order.popleft().drop_first()

"""One reading of time, in nanoseconds: it goes as its source does, or stands still."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Dial:
    """Time by ``source``, moved by what it was moved, less what it stood still."""

    __slots__ = ("_held_ns", "_offset_ns", "_source")

    def __init__(self, source: Callable[[], int]) -> None:
        self._source = source
        self._offset_ns = 0
        self._held_ns: int | None = None

    def now_ns(self) -> int:
        """What it shows."""
        held_ns = self._held_ns
        return self._source() + self._offset_ns if held_ns is None else held_ns

    def move(self, delta_ns: int) -> None:
        """Show so much more from now on."""
        self._offset_ns += delta_ns
        if self._held_ns is not None:
            self._held_ns += delta_ns

    def hold(self) -> None:
        """Stand still. Does nothing when it does already."""
        self._held_ns = self.now_ns()

    def let_go(self) -> None:
        """Go on from where it stands. Does nothing when it goes."""
        if self._held_ns is not None:
            self._offset_ns = self._held_ns - self._source()
            self._held_ns = None

    def catch_up(self) -> None:
        """Go on as if it had not stood still, but for what it was moved."""
        self._held_ns = None

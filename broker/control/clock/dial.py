"""One reading of time, in nanoseconds: it goes as its source does, or stands still."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Dial:
    """Time by ``source``, moved by what it was moved, less what it stood still.

    ``held_ns``: what it shows while it stands; None: it shows ``source`` and
    ``offset_ns`` together.
    """

    __slots__ = ("held_ns", "offset_ns", "source")

    def __init__(self, source: Callable[[], int]) -> None:
        self.source = source
        self.offset_ns = 0
        self.held_ns: int | None = None

    def now_ns(self) -> int:
        """What it shows."""
        held_ns = self.held_ns
        return self.source() + self.offset_ns if held_ns is None else held_ns

    def move(self, delta_ns: int) -> None:
        """Show so much more from now on."""
        self.offset_ns += delta_ns
        if self.held_ns is not None:
            self.held_ns += delta_ns

    def hold(self) -> None:
        """Stand still. Does nothing when it does already."""
        self.held_ns = self.now_ns()

    def let_go(self) -> None:
        """Go on from where it stands. Does nothing when it goes."""
        if self.held_ns is not None:
            self.offset_ns = self.held_ns - self.source()
            self.held_ns = None

    def catch_up(self) -> None:
        """Go on as if it had not stood still, but for what it was moved."""
        self.held_ns = None

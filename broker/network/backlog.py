"""The frames of one connection that may not start yet, in the order in which they came.

Small frames lie in receive buffers, together with what is long gone; while they wait
they have memory of their own, so that ``size`` is what is really held.
"""

from __future__ import annotations

from collections import deque


class Backlog:
    """Frames that wait; ``size`` in bytes, 0 when there are none."""

    __slots__ = ("_frames", "size")

    def __init__(self) -> None:
        self._frames: deque[memoryview] = deque()
        self.size = 0

    def add(self, frame: memoryview) -> None:
        """``frame`` comes behind the others."""
        size = len(frame)
        if len(frame.obj) > 2 * size:  # type: ignore[arg-type]
            frame = memoryview(bytearray(frame))  # handlers may write to it
        self._frames.append(frame)
        self.size += size

    def take(self) -> deque[memoryview]:
        """All of them, which wait no longer."""
        frames, self._frames = self._frames, deque()
        self.size = 0
        return frames

    def clear(self) -> None:
        """Nobody waits for them any more."""
        self.take()

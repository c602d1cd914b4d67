"""Reading and writing no faster than so many bytes a second.

What counts is every byte that goes through a file, in either direction. The wait comes
after the bytes: a large read is paid for before the next one.
"""

import time
from collections.abc import Callable
from pathlib import Path

from odradek.storage.files.files import Buffer, OsFile, OsFiles

# Shorter waits are put together: a sleep is never exact.
_WAIT_MIN_S = 0.01


class Throttle:
    """Makes the caller wait as soon as it is ahead of its rate.

    Time in which nothing was read or written is not made up for later.
    """

    def __init__(
        self,
        bytes_per_second: float,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._rate = bytes_per_second
        self._monotonic = monotonic
        self._sleep = sleep
        self._paid_until = monotonic()

    def pass_on(self, size: int) -> None:
        """Wait for as long as ``size`` bytes take."""
        now = self._monotonic()
        self._paid_until = max(self._paid_until, now) + size / self._rate
        ahead = self._paid_until - now
        if ahead >= _WAIT_MIN_S:
            self._sleep(ahead)


class ThrottledFiles(OsFiles):
    """The operating system's files, whose reads and appends go at a rate."""

    def __init__(self, throttle: Throttle) -> None:
        super().__init__()
        self.throttle = throttle

    def file(self, path: Path, size: int) -> OsFile:
        """One that waits."""
        return _ThrottledFile(self, path, size)


class _ThrottledFile(OsFile):
    def __init__(self, files: ThrottledFiles, path: Path, size: int) -> None:
        super().__init__(files, path, size)
        self._throttle = files.throttle

    def append(self, data: Buffer) -> None:
        super().append(data)
        self._throttle.pass_on(len(data))

    def read_at(self, position: int, size: int, may_block: bool = True) -> memoryview:
        data = super().read_at(position, size, may_block)
        self._throttle.pass_on(len(data))
        return data

"""Which log directories have too little room left for what clients send.

The broker's own records (offsets, transactions) and its catalogue go on in the
space that is kept back, so that a full disk can be looked at and cleared.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

# A disk takes some 100 MB in that time; the default reserve is larger.
SAMPLE_INTERVAL_MS = 250

_logger = logging.getLogger(__name__)


def free_bytes(directory: Path) -> int:
    """What the file system of ``directory`` would still take from us."""
    try:
        status = os.statvfs(directory)
    except OSError:
        return sys.maxsize  # what is wrong with it, the next write says
    return status.f_bavail * status.f_frsize


class FreeSpace:
    """Looks at the directories now and then, when somebody writes."""

    def __init__(
        self,
        directories: Iterable[Path],
        free_bytes_min: int,
        measure: Callable[[Path], int] = free_bytes,
    ) -> None:
        self.low_directories: frozenset[Path] = frozenset()
        self.low_count = 0  # how often one has become so
        self._directories = tuple(directories)
        self._free_bytes_min = free_bytes_min
        self._measure = measure
        self._sampled_ms = -SAMPLE_INTERVAL_MS

    def sample_if_due(self, now_ms: int) -> None:
        """Measure again when the last time was long enough ago, by any clock."""
        if -SAMPLE_INTERVAL_MS < now_ms - self._sampled_ms < SAMPLE_INTERVAL_MS:
            return
        self._sampled_ms = now_ms
        low = frozenset(
            directory
            for directory in self._directories
            if self._measure(directory) < self._free_bytes_min
        )
        if low != self.low_directories:
            self._report(low)
            self.low_directories = low

    def _report(self, low: frozenset[Path]) -> None:
        for directory in sorted(low - self.low_directories):
            self.low_count += 1
            _logger.error(
                "%s has less than %d bytes free (log.min.free.bytes): clients' records "
                "are refused",
                directory,
                self._free_bytes_min,
            )
        for directory in sorted(self.low_directories - low):
            _logger.warning("%s has space again: records are taken", directory)

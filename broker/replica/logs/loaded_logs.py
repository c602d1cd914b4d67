"""What a start says of the logs that it loaded: of each, and of all of them at the end.

After a clean stop there is nothing to tell, unless it took long; of a log that had to
be recovered people want to know what became of it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from odradek.broker.runtime.logs import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.runtime.clock import Clock
    from odradek.storage.log.unified_log import UnifiedLog

LONG_MS = 1000

_logger = logging.getLogger(__name__)


class LoadedLogs:
    """Counts the logs that were loaded, from when it is made until `report`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_ms = clock.monotonic_ms()
        self._count = self._failed_count = self._recovered_count = 0
        self._recovered_offsets = self._cut_bytes = self._damaged_count = 0
        self._read_segments = self._read_bytes = 0
        self._reported_count = -1  # of those that were opened, or could not be

    def note(self, log: UnifiedLog, elapsed_ms: int) -> None:
        """A log was loaded, which took so long."""
        self._count += 1
        loaded = log.loaded
        assert loaded is not None, "it was made"
        self._recovered_count += loaded.is_recovered
        self._recovered_offsets += loaded.recovered_offsets
        self._cut_bytes += loaded.cut_bytes
        self._read_segments += loaded.read_segments
        self._read_bytes += loaded.read_bytes
        self._damaged_count += len(log.damage)
        is_changed = loaded.recovered_offsets or loaded.cut_bytes
        log.lines(_logger).log(
            logging.INFO if is_changed else logging.DEBUG,
            "loaded with %s, log start offset %d, log end offset %d in %d ms;"
            " %s recovered, %s cut",
            counted(len(log.local.segments), "segment"),
            log.log_start_offset,
            log.log_end_offset,
            elapsed_ms,
            counted(loaded.recovered_offsets, "offset"),
            counted(loaded.cut_bytes, "byte"),
        )

    def note_failed(self) -> None:
        """A log could not be loaded; somebody else says why."""
        self._failed_count += 1

    def report(self) -> None:
        """Say what all of it came to, unless that was said."""
        count = self._count + self._failed_count
        if count == self._reported_count:
            return
        self._reported_count = count
        elapsed_ms = self._clock.monotonic_ms() - self._began_ms
        is_ordinary = not (
            self._recovered_count
            or self._cut_bytes
            or self._damaged_count
            or self._failed_count
        )
        level = logging.INFO
        if is_ordinary and elapsed_ms < LONG_MS:
            level = logging.DEBUG
        _logger.log(
            level,
            "%s loaded in %.3f s%s",
            counted(self._count, "log"),
            elapsed_ms / 1000,
            "".join(self._particulars()),
        )

    def _particulars(self) -> Iterator[str]:
        """What was not as after a clean stop."""
        cut = f"{counted(self._cut_bytes, 'byte')} of torn tails cut"
        if self._recovered_count:
            yield (
                "; the last stop was not a clean one:"
                f" {counted(self._recovered_count, 'log')} recovered,"
                f" {counted(self._read_segments, 'segment')} and"
                f" {counted(self._read_bytes, 'byte')} read again,"
                f" {counted(self._recovered_offsets, 'offset')} found beyond what was"
                f" known to be on disk, {cut}"
            )
        elif self._cut_bytes:
            yield f"; {cut}"
        if self._damaged_count:
            yield f"; {counted(self._damaged_count, 'damaged range')} passed over"
        if self._failed_count:
            yield f"; {counted(self._failed_count, 'log')} cannot be opened"

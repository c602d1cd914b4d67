"""What compaction has come to, for those who watch a broker.

Apache Kafka's name of the same gauge stands behind each, of its LogCleaner and
LogCleanerManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.storage.cleaner.offset_map import SLOT_SIZE

if TYPE_CHECKING:
    from odradek.storage.cleaner.plan import CleaningStats


class CleaningGauges:
    """Numbers that rounds leave behind; all are 0 before the first."""

    def __init__(self) -> None:
        self.max_dirty_percent = 0.0
        """How much of the dirtiest log was not clean at the last look, of what may be
        cleaned (max-dirty-percent)."""
        self.last_look_ms = 0
        """When the job has last looked for something to clean, by the monotonic clock;
        0: never (time-since-last-run-ms is the time since)."""
        self.dead_thread_count = 0
        """1 when the job has failed with a bug of ours and has not got through since,
        else 0 (DeadThreadCount)."""
        self.max_clean_time_s = 0.0
        """What the last round took, in seconds (max-clean-time-secs)."""
        self.max_buffer_utilization_percent = 0.0
        """How full the memory for keys was in the last round, of a round's share
        (max-buffer-utilization-percent)."""
        self.recopy_percent = 0.0
        """How much of what the last round has read was written again
        (cleaner-recopy-percent)."""
        self.round_count = 0
        """The rounds that came to their end."""
        self.bytes_read = 0
        """Bytes of segments that rounds have read to write them anew."""
        self.bytes_written = 0
        """Bytes of the segments that they have written."""

    def note_round(
        self, stats: CleaningStats, elapsed_ms: float, map_size: int
    ) -> None:
        """A round has ended, of which ``map_size`` bytes were for keys at most."""
        self.max_clean_time_s = elapsed_ms / 1000
        used = 100 * stats.key_count * SLOT_SIZE / max(map_size, 1)
        self.max_buffer_utilization_percent = min(used, 100.0)
        self.recopy_percent = 100 * stats.bytes_written / max(stats.bytes_read, 1)
        self.round_count += 1
        self.bytes_read += stats.bytes_read
        self.bytes_written += stats.bytes_written

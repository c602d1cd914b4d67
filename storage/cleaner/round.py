"""One round of cleaning a log: its heavy part, for a thread or process of its own.

What is written has names that end in ``.cleaned``, and is synced; the log takes each
new segment in the place of those that it was made of (`segment_replacement`). A round
that is given up leaves only such names, which the next start removes, or `unfinished`.
"""

from odradek.storage.files.files import Buffer, Files
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.values.file_names import CLEANED

from .grouping import Group, group_segments
from .map_builder import build_offset_map, runs_of
from .plan import CleanedSegment, CleaningPlan, CleaningStats, SourceSegment
from .plan_details import with_details
from .retention import Retention
from .unfinished import give_up

WRITE_SIZE = 1 << 20
# Syncs of others, which producers wait for, may have to wait for what is not synced
# here: one of a whole segment would keep them for as long as all of it takes.
SYNC_SIZE = 2 << 20


class CleaningRound:
    """Builds the map of keys, then writes one segment after another."""

    def __init__(self, files: Files, plan: CleaningPlan) -> None:
        """Read the dirty part. Waits for the disk.

        Raises:
            DamageFound: a segment has to be looked at first.
            CorruptMessage, InvalidRecord: a batch holds what is no record.
            CorruptIndex: a transaction index cannot be believed.
            KafkaStorageError: the disk fails.
        """
        plan = with_details(files, plan)
        self.stats = CleaningStats()
        self._files = files
        self._plan = plan
        offsets = build_offset_map(files, plan)
        self.stats.key_count = len(offsets)
        self.next_dirty_offset = offsets.latest_offset + 1
        self._retention = Retention(plan, offsets, self.stats)
        self._groups = group_segments(
            [
                each
                for each in plan.segments
                if each.base_offset < self.next_dirty_offset
            ],
            plan.config,
        )
        self._groups.reverse()

    def clean_next(self) -> CleanedSegment | None:
        """Write the next segment anew; None when all are. Waits for the disk.

        Raises:
            as above, and DiskFull: nothing is left of it.
        """
        while self._groups:
            group = self._groups.pop()
            if group[0].has_damage:
                self._pass(group)
                continue
            return self._clean(group)
        return None

    def _pass(self, group: Group) -> None:
        """Leave a segment as it is, but know what transactions it is in."""
        stats = self.stats
        counted = stats.records_read, stats.records_written, stats.null_key_count
        for segment in group:
            for batches in runs_of(self._files, self._plan, segment):
                for _ in self._retention.keep(batches):
                    pass
        stats.records_read, stats.records_written, stats.null_key_count = counted
        self._retention.aborted.clear()
        self._retention.keep_tombstones()

    def _clean(self, group: Group) -> CleanedSegment:
        plan, base_offset = self._plan, group[0].base_offset
        written = LogSegment.create(
            self._files, plan.directory, base_offset, plan.config, plan.now_ms, CLEANED
        )
        try:
            writer = _Writer(written)
            for segment in group:
                self._write(segment, writer)
            writer.flush()
            written.seal()
            for file in written.dirty_files():
                file.sync()
        except BaseException:
            written.close()
            give_up(self._files, plan, base_offset)
            raise
        size = written.size
        written.close()
        self.stats.bytes_written += size
        replaced = tuple(each.base_offset for each in group)
        return CleanedSegment(base_offset, replaced, size)

    def _write(self, segment: SourceSegment, writer: "_Writer") -> None:
        retention = self._retention
        self.stats.bytes_read += segment.size
        for batches in runs_of(self._files, self._plan, segment):
            for kept in retention.keep(batches):
                writer.add(kept)
            for entry in retention.aborted:
                writer.segment.transactions.append(entry)
            retention.aborted.clear()


class _Writer:
    """Appends batches, many at a time."""

    def __init__(self, segment: LogSegment) -> None:
        self.segment = segment
        self._batches = bytearray()
        self._unsynced_size = 0

    def add(self, batches: Buffer) -> None:
        """Write them, now or with those behind them."""
        self._batches += batches
        if len(self._batches) >= WRITE_SIZE:
            self.flush()

    def flush(self) -> None:
        """Write what is not written yet."""
        if self._batches:
            self.segment.append_batches(self._batches)
            self._unsynced_size += len(self._batches)
            self._batches = bytearray()
        if self._unsynced_size >= SYNC_SIZE:
            self.segment.log.sync()
            self._unsynced_size = 0

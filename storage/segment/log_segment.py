"""A segment: one ``.log`` file of batches, with its indexes.

Invariants:
- Batches lie one behind another, their offsets increase, and none is more than
  2^31-1 above the base offset.
- Only the active segment of a log grows. `activate` makes it so, `seal` ends it.
- What this process appended is trusted. What it found in the file is compared with
  its checksum before a reader gets it for the first time.
"""

import logging
import random
from pathlib import Path

from odradek.protocol.batch_columns import BatchWalk
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    read_header,
    stamp_base_offset,
    stamp_sized,
)
from odradek.storage.files.files import Buffer, DiskFull, File, Files
from odradek.storage.formats.index_entry import (
    INDEX_ENTRY_SIZE,
    RELATIVE_OFFSET_MAX,
    TIME_INDEX_ENTRY_SIZE,
)
from odradek.storage.indexes.time_index import NO_TIMESTAMP
from odradek.storage.indexes.transaction_index import TransactionIndex
from odradek.storage.scan.batch_scan import OnRun
from odradek.storage.scan.result import OffsetRepair, Recovery
from odradek.storage.values.file_names import (
    DELETED,
    LOG,
    SEGMENT_KINDS,
    TRANSACTION_INDEX,
    segment_path,
)
from odradek.storage.values.log_config import LogConfig

from .indexes import SegmentIndexes
from .reader import SegmentReader

_OFFSET_SIZE = 8

_logger = logging.getLogger(__name__)


class LogSegment:
    """The batches from ``base_offset`` on, up to the next segment's.

    ``reader`` finds and reads them; it shares ``log`` and ``indexes``.
    """

    def __init__(  # noqa: PLR0913 - once for each segment, by the log alone
        self,
        files: Files,
        directory: Path,
        base_offset: int,
        config: LogConfig,
        now_ms: int,
        create: bool = False,
        suffix: str = "",
    ) -> None:
        """Open the segment that is there. It is sealed until `activate`.

        ``suffix`` is that of its files' names while it is not, or no more, in use.
        """
        self.files = files
        self.directory = directory
        self.created_ms = now_ms
        path = segment_path(directory, base_offset, LOG + suffix)
        self.base_offset = base_offset
        self.log = log = files.open(path, create=create)
        self.indexes = SegmentIndexes(
            files, directory, base_offset, log, config.index_interval_bytes, suffix
        )
        self.reader = SegmentReader(base_offset, log, self.indexes)
        path = segment_path(directory, base_offset, TRANSACTION_INDEX + suffix)
        self.transactions = TransactionIndex(files, path, base_offset)
        self._jitter_ms = _draw_jitter(config)
        self._first_timestamp = NO_TIMESTAMP
        self._last_offset_max = base_offset + RELATIVE_OFFSET_MAX
        self.config = config
        self._suffix = suffix

    @classmethod
    def create(
        cls,
        files: Files,
        directory: Path,
        base_offset: int,
        config: LogConfig,
        now_ms: int,
        suffix: str = "",
    ) -> "LogSegment":
        """A new, empty, active segment. Old files of its names are emptied."""
        segment = cls(files, directory, base_offset, config, now_ms, True, suffix)
        if segment.log.size:
            segment.log.truncate(0)
        segment.indexes.start()
        segment.transactions.clear()
        segment.reader.verification.trust(0)
        return segment

    @property
    def config(self) -> LogConfig:
        """The topic's options."""
        return self._config

    @config.setter
    def config(self, config: LogConfig) -> None:
        self._config = config
        self.indexes.interval_bytes = config.index_interval_bytes
        self.indexes.has_gaps = config.is_compacted
        # What `should_roll` compares with; worked out once, not for each batch.
        self._size_max = config.segment_bytes
        self._age_ms_max = config.max_segment_ms - self._jitter_ms
        self._offset_entries_max = config.segment_index_bytes // INDEX_ENTRY_SIZE
        time_entries = config.segment_index_bytes // TIME_INDEX_ENTRY_SIZE
        self._time_entries_max = time_entries - 1  # one is for when it is sealed
        self._begin_with(self._first_timestamp)

    def _begin_with(self, first_timestamp: int) -> None:
        """Note the largest timestamp of the first batch; -1: it has none, or is not.

        Event time says when to roll: how much later than the first batch another is.
        The wall clock only counts where records have no timestamps.
        """
        self._first_timestamp = first_timestamp
        start = first_timestamp if first_timestamp >= 0 else self.created_ms
        self._roll_at_ms = start + self._age_ms_max

    @property
    def size(self) -> int:
        """The bytes of the log file."""
        return self.log.size

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp of its batches, -1 when none has one."""
        return self.indexes.latest.timestamp

    @property
    def offset_of_max_timestamp(self) -> int:
        """The last offset of the batch that holds the largest timestamp."""
        return self.indexes.latest.offset

    def largest_timestamp(self) -> int:
        """The largest timestamp, or the time of the last write when there is none."""
        timestamp = self.max_timestamp
        return timestamp if timestamp >= 0 else self.files.modified_ms(self.log.path)

    def first_timestamp(self) -> int:
        """The largest timestamp of its first batch; -1 when it has none."""
        if self._first_timestamp == NO_TIMESTAMP:
            self._load_first_timestamp()
        return self._first_timestamp

    def append(
        self, batch: Buffer, last_offset: int, max_timestamp: int, offset_of_max: int
    ) -> None:
        """Write a batch that ends at ``last_offset``; nothing changes when it fails.

        Raises:
            DiskFull, StorageFailure: as `File.append`.
        """
        log = self.log
        position = log.size
        assert self.base_offset <= last_offset <= self._last_offset_max, last_offset
        log.append(batch)
        if not position:
            self._begin_with(max_timestamp)
        self.indexes.note(
            position, len(batch), last_offset, max_timestamp, offset_of_max
        )

    def append_usual(
        self,
        batch: Buffer,
        base_offset: int,
        last_offset: int,
        max_timestamp: int,
        leader_epoch: int,
    ) -> bool:
        """`stamp` one batch and `append` it, in one step, unless it should roll.

        Returns whether it did; the first batch of a segment, and batches behind one
        without a time, are left to these.

        Raises:
            DiskFull, StorageFailure: as `File.append`.
        """
        log = self.log
        position, size = log.size, len(batch)
        if (
            not position
            or self._first_timestamp < 0
            or self.should_roll(size, max_timestamp, last_offset, max_timestamp)
        ):
            return False
        stamp_sized(batch, base_offset, size, leader_epoch)
        log.append(batch)
        self.indexes.note(position, size, last_offset, max_timestamp, last_offset)
        return True

    def append_batches(self, batches: Buffer) -> None:
        """Write whole, sound batches, with index entries as if each had come alone.

        Raises:
            DiskFull, StorageFailure: as `File.append`.
        """
        position, data = self.log.size, memoryview(batches)
        self.log.append(batches)
        if not position:
            self._begin_with(read_header(batches).max_timestamp)
        walk = BatchWalk(len(data))
        offsets = self.base_offset, self._last_offset_max
        while data:
            run = walk.run(data, position, offsets, checks_crc=False)
            assert run is not None, position
            self.indexes.note_run(run)
            data = data[run.end - position :]
            position = run.end

    def should_roll(
        self, incoming_size: int, max_timestamp: int, last_offset: int, now_ms: int
    ) -> bool:
        """Whether a batch like this belongs into a new segment."""
        size, indexes = self.log.size, self.indexes
        now_ms = max_timestamp if self._first_timestamp >= 0 else now_ms
        return (
            size > self._size_max - incoming_size
            or (now_ms > self._roll_at_ms and size > 0)
            or indexes.offsets.count >= self._offset_entries_max
            or indexes.times.count >= self._time_entries_max
            or not self.base_offset <= last_offset <= self._last_offset_max
        )

    def activate(self, log_end: int | None = None) -> Recovery:
        """Make it the segment that is appended to. Returns how it ends.

        Only the tail behind the last index entry is looked at: a log that was closed
        (at ``log_end``, if that is known) is trusted, but for an invalid last batch.
        """
        self._load_first_timestamp()
        return self.indexes.grow(log_end)

    def recover(
        self,
        from_position: int = 0,
        on_run: OnRun | None = None,
        recovery_point: int | None = None,
    ) -> Recovery:
        """Read the batches from ``from_position`` on, and index them anew.

        ``on_run`` gets the valid batches, in order; the log once ended at
        ``recovery_point``. Nothing is cut: what is damaged, and where the last valid
        batch ends, is in the result. The segment is active afterwards.
        """
        self._load_first_timestamp()
        recovery = self.indexes.recover(from_position, on_run, recovery_point)
        if not recovery.damaged and not recovery.repairs:
            self.reader.verification.trust(from_position)
        return recovery

    def _load_first_timestamp(self) -> None:
        start, first_timestamp = self.log.read_at(0, BATCH_OVERHEAD), NO_TIMESTAMP
        if len(start) == BATCH_OVERHEAD:
            first_timestamp = read_header(start).max_timestamp
        self._begin_with(first_timestamp)

    def truncate_to(self, offset: int, now_ms: int) -> int:
        """Cut before the batch that holds ``offset``. Returns the bytes that went.

        The segment is active afterwards.
        """
        self.activate()
        found = self.reader.find(offset)
        size = self.log.size
        self.reader.forget_places()
        self.indexes.truncate_to(offset)
        self.transactions.truncate_to(offset)
        if found is not None:
            self.cut(found[0])
        if not self.log.size:
            self.created_ms = now_ms
        self.activate()
        return size - self.log.size

    def cut(self, position: int) -> None:
        """Remove the bytes from ``position`` on, where no index entry points."""
        if position < self.log.size:
            self.log.truncate(position)
            self.reader.verification.trust(position)
            self.reader.forget_places()

    def put_right(self, repair: OffsetRepair) -> None:
        """Write the offset at which a batch begins, where the file says another.

        Raises:
            DiskFull, StorageFailure: as `File.overwrite`.
        """
        start = bytearray(self.log.read_at(repair.position, BATCH_OVERHEAD))
        stamp_base_offset(start, repair.base_offset)
        self.log.overwrite(repair.position, start[:_OFFSET_SIZE])
        self.reader.forget_places()
        _logger.warning(
            "%s: the batch at position %d: %s, and is put right",
            *(self.log.path, repair.position, repair.reason),
        )

    def preallocate(self) -> None:
        """Let its file be written ahead of the log, if the topic wants that."""
        config = self._config
        self.log.preallocate(config.segment_bytes if config.preallocate else 0)

    def seal(self) -> None:
        """End the segment: no append follows. Writes the last index entries.

        The files are still to be synced, see `dirty_files`.
        """
        self.log.trim()
        self.indexes.seal()
        self.transactions.seal()

    def flush_indexes(self) -> None:
        """Write the index entries that are only in memory to their files."""
        self.indexes.flush()

    def dirty_files(self) -> list[File]:
        """The files with bytes that are not synced, the log first."""
        files = [self.log] if self.log.is_dirty else []
        for index in (self.indexes.offsets, self.indexes.times, self.transactions):
            file = index.file  # not by `dirty_file`: each sync of each log asks
            if file is not None and file.is_dirty:
                files.append(file)
        return files

    def close(self) -> None:
        """Seal, and let go of the files. They open again if asked."""
        self.reader.forget_places()
        self.log.trim()
        self.indexes.close()
        self.transactions.close()
        self.log.close()

    def moved(self, directory: Path) -> None:
        """The files are in another directory now."""
        self._follow(directory, self._suffix)

    def rename_deleted(self) -> None:
        """Give every file the suffix ``.deleted``: to be removed when nobody reads."""
        self.rename(DELETED)

    def take_away(self) -> None:
        """The same. Where not even a longer name finds room, the files go at once.

        Raises:
            DiskFull: they can neither be renamed nor removed, and are there.
        """
        try:
            self.rename(DELETED)
        except DiskFull:
            # The log goes first: after a kill it must not be there without its indexes.
            self.delete_files()
            self._follow(self.directory, DELETED)
            self.delete_files()  # those that were renamed

    def rename(self, suffix: str) -> None:
        """Give every file that there is this suffix, in place of the one it has."""
        for kind in SEGMENT_KINDS:
            path = segment_path(self.directory, self.base_offset, kind + self._suffix)
            if self.files.exists(path):
                name = segment_path(self.directory, self.base_offset, kind + suffix)
                self.files.rename(path, name)
        self._follow(self.directory, suffix)

    def delete_files(self) -> None:
        """Remove the files, whatever they are called now."""
        for kind in SEGMENT_KINDS:
            name = kind + self._suffix
            self.files.unlink(segment_path(self.directory, self.base_offset, name))
        self.reader.forget_places()
        self.indexes.let_go()
        self.transactions.close()
        self.log.close()

    def _follow(self, directory: Path, suffix: str) -> None:
        self.directory, self._suffix = directory, suffix
        self.log.path = segment_path(directory, self.base_offset, LOG + suffix)
        self.indexes.moved(directory, suffix)
        name = TRANSACTION_INDEX + suffix
        self.transactions.moved(segment_path(directory, self.base_offset, name))


def _draw_jitter(config: LogConfig) -> int:
    limit = min(config.segment_jitter_ms, config.segment_ms)
    return random.randrange(limit) if limit > 0 else 0

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
from typing import NamedTuple

from protocol.errors import CorruptMessage
from protocol.record_batch import BATCH_OVERHEAD, BatchHeader, read_header

from .batch_scan import BatchScan, OnBatch, Recovery
from .batch_verification import BatchVerification
from .batch_walk import (
    find_batch,
    is_whole_batch,
    last_offset_at,
)
from .files import Buffer, File, Files
from .formats.index_entry import (
    INDEX_ENTRY_SIZE,
    RELATIVE_OFFSET_MAX,
    TIME_INDEX_ENTRY_SIZE,
)
from .log_config import LogConfig
from .log_files import (
    DELETED,
    LOG,
    OFFSET_INDEX,
    SEGMENT_KINDS,
    TIME_INDEX,
    segment_path,
)
from .mapped_index import CorruptIndex
from .offset_index import OffsetIndex, OffsetPosition
from .time_index import NO_TIMESTAMP, TimeIndex, TimestampedBatch

_LOOKUP_SIZE = 8192

_logger = logging.getLogger(__name__)


class SegmentRead(NamedTuple):
    """What a read found: whole batches from ``position`` on, the last maybe cut."""

    position: int
    records: Buffer
    first_batch_incomplete: bool


class LogSegment:
    """The batches from ``base_offset`` on, up to the next segment's.

    ``max_timestamp`` is -1 when no record has one; ``offset_of_max_timestamp`` is the
    last offset of the batch that holds it.
    """

    def __init__(
        self,
        files: Files,
        directory: Path,
        base_offset: int,
        config: LogConfig,
        now_ms: int,
    ) -> None:
        """Open the segment that is there. It is sealed until `activate`."""
        self.files = files
        self.directory = directory
        self.base_offset = base_offset
        self.config = config
        self.created_ms = now_ms
        self.log: File = files.open(segment_path(directory, base_offset, LOG))
        size = self.log.size
        index_path = segment_path(directory, base_offset, OFFSET_INDEX)
        self.offset_index = OffsetIndex(files, index_path, base_offset, size)
        index_path = segment_path(directory, base_offset, TIME_INDEX)
        self.time_index = TimeIndex(files, index_path, base_offset)
        self.verification = BatchVerification(size)
        self._has_timestamps = False
        self._max_timestamp = NO_TIMESTAMP
        self._offset_of_max_timestamp = base_offset
        self._first_timestamp = NO_TIMESTAMP
        self._jitter_ms = _draw_jitter(config)
        self._bytes_since_index = 0
        self._known = OffsetPosition(base_offset, 0)
        self._suffix = ""

    @classmethod
    def create(
        cls,
        files: Files,
        directory: Path,
        base_offset: int,
        config: LogConfig,
        now_ms: int,
    ) -> "LogSegment":
        """A new, empty, active segment. Old files of its names are emptied."""
        files.open(segment_path(directory, base_offset, LOG), create=True)
        segment = cls(files, directory, base_offset, config, now_ms)
        if segment.log.size:
            segment.log.truncate(0)
        segment.offset_index.start()
        segment.time_index.start()
        segment.verification.trust(0)
        segment._has_timestamps = True
        return segment

    @property
    def size(self) -> int:
        """The bytes of the log file."""
        return self.log.size

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp of its batches, -1 when none has one."""
        if not self._has_timestamps:
            self._load_timestamps()
        return self._max_timestamp

    @property
    def offset_of_max_timestamp(self) -> int:
        """The last offset of the batch that holds the largest timestamp."""
        if not self._has_timestamps:
            self._load_timestamps()
        return self._offset_of_max_timestamp

    def append(
        self, batch: Buffer, last_offset: int, max_timestamp: int, offset_of_max: int
    ) -> None:
        """Write batches that end at ``last_offset``; nothing changes when it fails.

        Raises:
            DiskFull, StorageFailure: as `File.append`.
        """
        log = self.log
        position = log.size
        assert 0 <= last_offset - self.base_offset <= RELATIVE_OFFSET_MAX, last_offset
        log.append(batch)
        if position == 0:
            self._first_timestamp = max_timestamp
        if max_timestamp > self._max_timestamp:
            self._max_timestamp = max_timestamp
            self._offset_of_max_timestamp = offset_of_max
        if self._bytes_since_index > self.config.index_interval_bytes:
            self.offset_index.append(last_offset, position)
            self.time_index.maybe_append(
                self._max_timestamp, self._offset_of_max_timestamp
            )
            self._bytes_since_index = 0
        self._bytes_since_index += len(batch)

    def should_roll(
        self, incoming_size: int, max_timestamp: int, last_offset: int, now_ms: int
    ) -> bool:
        """Whether a batch like this belongs into a new segment (``spec`` B3)."""
        config = self.config
        size = self.log.size
        if size > config.segment_bytes - incoming_size:
            return True
        if size:
            # Event time: how much later than the first batch this one is. The wall
            # clock only counts where records have no timestamps.
            first = self._first_timestamp
            age = max_timestamp - first if first >= 0 else now_ms - self.created_ms
            if age > config.max_segment_ms - self._jitter_ms:
                return True
        index_size = config.segment_index_bytes
        return (
            self.offset_index.count >= index_size // INDEX_ENTRY_SIZE
            or self.time_index.count >= index_size // TIME_INDEX_ENTRY_SIZE - 1
            or not 0 <= last_offset - self.base_offset <= RELATIVE_OFFSET_MAX
        )

    def read(
        self,
        start_offset: int,
        max_position: int | None,
        size_max: int,
        min_one: bool = True,
        may_block: bool = True,
    ) -> SegmentRead | None:
        """The batches from the one that holds ``start_offset`` on.

        They end at ``max_position`` (None: the end of the segment) or after
        ``size_max`` bytes, in the middle of a batch if need be; with ``min_one`` the
        first batch is whole whatever its size. None when every batch ends below
        ``start_offset``.

        Raises:
            ColdRead: ``may_block`` is False and the bytes are not cached.
            CorruptMessage: the first batch is damaged.
        """
        end = self.log.size if max_position is None else max_position
        known = self._known
        if start_offset == known.offset and known.position < end:
            size = min(end - known.position, size_max)
            data = self.log.read_at(known.position, size, may_block)
            if is_whole_batch(data):
                records = self._verified(data, known.position)
                return SegmentRead(known.position, records, False)
        found = self.find(start_offset, may_block)
        if found is None:
            return None
        position, batch_size = found
        limit = max(size_max, batch_size) if min_one else size_max
        data = self.log.read_at(position, min(end - position, limit), may_block)
        records = self._verified(data, position)
        return SegmentRead(position, records, limit < batch_size)

    def remember(self, offset: int, position: int) -> None:
        """Keep where the batch of ``offset`` begins, for the reader who comes next.

        Readers at the end of the log ask again for where they stopped: that saves
        them the index and a second read.
        """
        self._known = OffsetPosition(offset, position)

    def find(self, offset: int, may_block: bool = True) -> tuple[int, int] | None:
        """Position and size of the first batch that ends at or above ``offset``."""
        log = self.log
        entry = self._index_entry(offset)
        position = entry.position
        data = log.read_at(position, _LOOKUP_SIZE, may_block)
        if position and last_offset_at(data) != entry.offset:
            _logger.warning("%s contradicts its log: written anew", log.path)
            self.rebuild_indexes()
            return self.find(offset, may_block)
        while data:
            try:
                step, size = find_batch(data, offset)
            except CorruptMessage as error:
                raise CorruptMessage(f"{log.path}: {position}: {error}") from error
            position += step
            if size and position + size <= log.size:
                return position, size
            if size or not step:
                raise CorruptMessage(f"{log.path}: {position}: a batch is cut short")
            data = log.read_at(position, _LOOKUP_SIZE, may_block)
        return None

    def activate(self) -> Recovery:
        """Make it the segment that is appended to. Returns how it ends.

        Only the tail behind the last index entry is looked at, not its checksums: a
        log that was closed is trusted. A last batch that is not whole is reported.
        """
        try:
            self.offset_index.grow()
            self.time_index.grow()
        except CorruptIndex as error:
            _logger.warning("%s: written anew", error)
            return self.recover(checks_crc=False)
        return self._scan_from(self.offset_index.last.position, None, False)

    def recover(
        self,
        from_position: int = 0,
        on_batch: OnBatch | None = None,
        checks_crc: bool = True,
    ) -> Recovery:
        """Read the batches from ``from_position`` on and write their index entries.

        ``on_batch`` gets each valid batch from there, in order. Nothing is cut: what
        is damaged, and where the last valid batch ends, is in the result. The segment
        is active afterwards.
        """
        try:
            self.offset_index.grow()
            self.time_index.grow()
            self.offset_index.truncate_to_position(from_position)
            entry = self.offset_index.last
            self.time_index.truncate_to(entry.offset + 1)
        except CorruptIndex:
            entry = OffsetPosition(self.base_offset, 0)
        if not entry.position:
            self.offset_index.start()
            self.time_index.start()

        def report(position: int, header: BatchHeader, batch: memoryview) -> None:
            if on_batch is not None and position >= from_position:
                on_batch(position, header, batch)

        return self._scan_from(entry.position, report, checks_crc)

    def _scan_from(
        self, start: int, on_batch: OnBatch | None, checks_crc: bool
    ) -> Recovery:
        """Walk from an indexed batch, or the start, to the end of the file.

        With ``on_batch``, index entries are written on the way.
        """
        self._restart_counters()
        scan = BatchScan(self.log, start, self.base_offset, checks_crc)
        for position, header, batch in scan:
            if header.max_timestamp > self._max_timestamp:
                self._max_timestamp = header.max_timestamp
                self._offset_of_max_timestamp = header.last_offset
            if on_batch is not None:
                if self._bytes_since_index > self.config.index_interval_bytes:
                    self._add_index_entries(header.last_offset, position)
                self._bytes_since_index += header.size
                on_batch(position, header, batch)
        if on_batch is not None:
            self._force_time_entry()
            if checks_crc and not scan.recovery().damaged:
                self.verification.trust(start)
        self._bytes_since_index = 0
        return scan.recovery()

    def _restart_counters(self) -> None:
        """Read from index and log what appending to the segment needs to know."""
        self._bytes_since_index = 0
        self._max_timestamp, self._offset_of_max_timestamp = self.time_index.last
        self._has_timestamps = True
        self._first_timestamp = NO_TIMESTAMP
        start = self.log.read_at(0, BATCH_OVERHEAD)
        if len(start) == BATCH_OVERHEAD:
            self._first_timestamp = read_header(start).max_timestamp

    def _load_timestamps(self) -> None:
        """Find the largest timestamp of a sealed segment: its last time entry.

        Without one it is looked for behind the last offset entry, before which the
        time index would have one.
        """
        self._index_entry(self.base_offset)
        try:
            latest = self.time_index.last
        except CorruptIndex:
            self.rebuild_indexes()
            latest = self.time_index.last
        if not self.time_index.count:
            start = self.offset_index.last.position
            for _, header, _ in BatchScan(self.log, start, self.base_offset, False):
                if header.max_timestamp > latest.timestamp:
                    latest = TimestampedBatch(header.max_timestamp, header.last_offset)
        self._max_timestamp, self._offset_of_max_timestamp = latest
        self._has_timestamps = True

    def _index_entry(self, offset: int) -> OffsetPosition:
        try:
            return self.offset_index.lookup(offset)
        except CorruptIndex as error:
            _logger.warning("%s: written anew", error)
            self.rebuild_indexes()
            return self.offset_index.lookup(offset)

    def rebuild_indexes(self) -> None:
        """Write both indexes anew from the headers in the log; reads all of it."""
        was_growing = self.offset_index.is_growing
        self.offset_index.start()
        self.time_index.start()
        self._scan_from(0, _ignore, False)
        if not was_growing:
            self.offset_index.seal()
            self.time_index.seal()

    def _add_index_entries(self, last_offset: int, position: int) -> None:
        self.offset_index.append(last_offset, position)
        self._force_time_entry()
        self._bytes_since_index = 0

    def _force_time_entry(self) -> None:
        self.time_index.maybe_append(self._max_timestamp, self._offset_of_max_timestamp)

    def truncate_to(self, offset: int, now_ms: int) -> int:
        """Cut before the batch that holds ``offset``. Returns the bytes that went.

        The segment is active afterwards.
        """
        found = self.find(offset)
        if not self.offset_index.is_growing:
            self.activate()
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self._known = OffsetPosition(self.base_offset, 0)
        size = self.log.size
        if found is not None:
            self.cut(found[0])
        if not self.log.size:
            self.created_ms = now_ms
        self._scan_from(self.offset_index.last.position, None, False)
        return size - self.log.size

    def cut(self, position: int) -> None:
        """Remove the bytes from ``position`` on, which no index entry names."""
        if position < self.log.size:
            self.log.truncate(position)
            self.verification.trust(position)

    def seal(self) -> None:
        """End the segment: no append follows. Writes the last entries of the indexes.

        The indexes are still to be synced, see `dirty_files`.
        """
        if self.time_index.is_growing:
            self._force_time_entry()
        self.offset_index.seal()
        self.time_index.seal()

    def flush_indexes(self) -> None:
        """Write the index entries that are only in memory to their files."""
        self.offset_index.flush()
        self.time_index.flush()

    def dirty_files(self) -> list[File]:
        """The files with bytes that are not synced, the log first."""
        log = [self.log] if self.log.is_dirty else []
        indexes = (self.offset_index.dirty_file(), self.time_index.dirty_file())
        return log + [file for file in indexes if file is not None]

    def largest_timestamp(self) -> int:
        """The largest timestamp, or the time of the last write when there is none."""
        timestamp = self.max_timestamp
        return timestamp if timestamp >= 0 else self.files.modified_ms(self.log.path)

    def close(self) -> None:
        """Seal, and let go of the files. They open again if asked."""
        self.seal()
        self.offset_index.close()
        self.time_index.close()
        self.log.close()

    def moved(self, directory: Path) -> None:
        """The files are in another directory now."""
        self._renamed(directory, "")

    def rename_deleted(self) -> None:
        """Give every file the suffix ``.deleted``: the segment is no more.

        Who still reads goes on; `delete_files` removes them later.
        """
        for kind in SEGMENT_KINDS:
            path = segment_path(self.directory, self.base_offset, kind)
            if self.files.exists(path):
                self.files.rename(path, path.with_name(path.name + DELETED))
        self._renamed(self.directory, DELETED)

    def delete_files(self) -> None:
        """Remove the files, whatever they are called now."""
        self.log.close()
        for kind in SEGMENT_KINDS:
            path = segment_path(self.directory, self.base_offset, kind + self._suffix)
            self.files.unlink(path)

    def _renamed(self, directory: Path, suffix: str) -> None:
        self.directory, self._suffix = directory, suffix
        base_offset = self.base_offset
        self.log.path = segment_path(directory, base_offset, LOG + suffix)
        self.offset_index.moved(
            segment_path(directory, base_offset, OFFSET_INDEX + suffix)
        )
        self.time_index.moved(segment_path(directory, base_offset, TIME_INDEX + suffix))

    def _verified(self, data: Buffer, position: int) -> Buffer:
        if position >= self.verification.trusted_from:
            return data
        try:
            return self.verification.check(data, position)
        except CorruptMessage as error:
            raise CorruptMessage(f"{self.log.path}: {error}") from error


def _ignore(position: int, header: BatchHeader, batch: memoryview) -> None:
    """For scans that only write index entries."""


def _draw_jitter(config: LogConfig) -> int:
    limit = min(config.segment_jitter_ms, config.segment_ms)
    return random.randrange(limit) if limit > 0 else 0

"""The segments of a partition as one log, up to the log end offset (LEO).

Invariants:
- There is at least one segment; the last is the active one and the only one that
  grows.
- Every offset below ``end`` that holds a record is in exactly one segment; there may
  be gaps inside and between segments (compaction leaves them).
- An append moves ``end`` only when all of it was written.

This layer knows bytes and offsets. What is visible to whom, and who may append, is
`UnifiedLog`'s business.
"""

import logging
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from weakref import ref

from odradek.protocol.errors import CorruptMessage, KafkaStorageError, OffsetOutOfRange
from odradek.storage.files.files import Buffer, DiskFull, Files
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.validation.usual_batch import rules_of
from odradek.storage.values.file_names import SEGMENT_KINDS, segment_path
from odradek.storage.values.log_config import LogConfig
from odradek.storage.values.log_lines import LogLines
from odradek.storage.values.log_read import FetchedData, nothing_at
from odradek.storage.values.offset_metadata import OffsetMetadata

from .segments import LogSegments

_logger = logging.getLogger(__name__)
# Batches up to that size are kept for readers at the end whether there are any or not:
# it costs next to nothing. Each read there lets so many bytes of larger ones be kept.
KEPT_SIZE_MAX = 4 << 10
_KEPT_FOR_READER = 4 << 20
_new = tuple.__new__


class LocalLog:
    """Appends to the last of its segments and reads across them."""

    def __init__(
        self,
        files: Files,
        directory: Path,
        config: LogConfig,
        segments: LogSegments,
        next_offset: int,
    ) -> None:
        """Take over loaded segments, the last of which was activated."""
        self.files = files
        self.directory = directory
        self.config = config
        self.usual_rules = rules_of(config)
        self.segments = segments
        self._make_active(segments.last)
        self.end = OffsetMetadata(
            next_offset, self.active.base_offset, self.active.size
        )
        self.cut_count = 0  # how often its end was cut
        self._kept_for_readers = 0  # bytes to come

    @classmethod
    def create(
        cls,
        files: Files,
        directory: Path,
        config: LogConfig,
        now_ms: int,
        start_offset: int = 0,
    ) -> "LocalLog":
        """A new, empty log that begins at ``start_offset``; makes its directory.

        Raises:
            DiskFull: there is no room for it, and nothing of it is left.
            KafkaStorageError: the disk fails.
        """
        was_there = files.exists(directory)
        try:
            files.mkdir(directory)
            first = LogSegment.create(files, directory, start_offset, config, now_ms)
        except DiskFull:
            # If its topic is deleted before it is tried again, nobody would remove it.
            if not was_there:
                with suppress(KafkaStorageError):
                    files.rmtree(directory)
            raise
        return cls(files, directory, config, LogSegments([first]), start_offset)

    def update_config(self, config: LogConfig) -> None:
        """Follow a change of the topic's options, in every segment."""
        self.config = config
        self.usual_rules = rules_of(config)
        for segment in self.segments:
            segment.config = config
        self.active.preallocate()

    def _make_active(self, segment: LogSegment) -> None:
        self.active = segment
        segment.reader.end.follow(ref(self))
        segment.preallocate()

    @property
    def size(self) -> int:
        """The bytes of all ``.log`` files."""
        return sum(segment.size for segment in self.segments)

    def append(
        self, batch: Buffer, last_offset: int, max_timestamp: int, offset_of_max: int
    ) -> None:
        """Write a stamped batch to the active segment and move the end behind it.

        Raises:
            DiskFull, StorageFailure: nothing was appended.
        """
        active = self.active
        active.append(batch, last_offset, max_timestamp, offset_of_max)
        # The tuple's own constructor takes half the time of the class's.
        self.end = _new(
            OffsetMetadata, (last_offset + 1, active.base_offset, active.log.size)
        )

    def append_batches(self, batches: Buffer, last_offset: int) -> None:
        """`append` of several, in one call and as if each had come alone.

        Raises:
            DiskFull, StorageFailure: nothing was appended.
        """
        active = self.active
        active.append_batches(batches)
        self.end = OffsetMetadata(last_offset + 1, active.base_offset, active.log.size)

    def keep(self, batch: Buffer, base_offset: int) -> None:
        """Keep the batch that was just appended, for readers at the end."""
        size = len(batch)
        if size > KEPT_SIZE_MAX:
            if self._kept_for_readers <= 0:
                return
            self._kept_for_readers -= size
        end_offset, _, end_position = self.end
        reader = self.active.reader
        tail = reader.tail or reader.begin_tail(self.files.tails)
        tail.add(batch, end_position - size, base_offset, end_offset)

    def read(
        self,
        start_offset: int,
        size_max: int,
        min_one: bool,
        max_metadata: OffsetMetadata,
        may_block: bool = True,
    ) -> FetchedData:
        """The batches from the one that holds ``start_offset`` up to ``max_metadata``.

        Nothing when ``start_offset`` is at or above it. All bytes come from one
        segment, by one read.

        Raises:
            OffsetOutOfRange: below the first segment, or above the end.
            ColdRead: ``may_block`` is False and the bytes are not cached.
            CorruptMessage: the first batch is damaged.
        """
        segment: LogSegment | None = self.active
        if start_offset < self.active.base_offset:
            segment = self.segments.floor(start_offset)
        if segment is None or start_offset > self.end.offset:
            raise OffsetOutOfRange(
                f"Offset {start_offset} is not in the log, which holds "
                f"{self.segments.first.base_offset} to {self.end.offset}."
            )
        if start_offset == max_metadata.offset:
            self._kept_for_readers = _KEPT_FOR_READER
            return nothing_at(max_metadata)
        if start_offset > max_metadata.offset:
            return nothing_at(self.convert_to_offset_metadata(start_offset, may_block))
        while segment is not None:
            data = _read_segment(
                segment, start_offset, size_max, min_one, max_metadata, may_block
            )
            if data is not None:
                metadata, records, _, _ = data
                if metadata.position + len(records) == max_metadata.position:
                    self._kept_for_readers = _KEPT_FOR_READER
                return data
            segment = self.segments.higher(segment.base_offset)
        return nothing_at(self.end)

    def end_at(self, offset: int) -> OffsetMetadata | None:
        """The log end, if that is there: what `read` finds, without reading."""
        end = self.end
        if offset != end.offset:
            return None
        self._kept_for_readers = _KEPT_FOR_READER
        return end

    def convert_to_offset_metadata(
        self, offset: int, may_block: bool = True
    ) -> OffsetMetadata:
        """The place of an offset in the files.

        Raises:
            OffsetOutOfRange: below the first segment, or above the end.
        """
        if offset == self.end.offset:
            return self.end
        segment = self.segments.floor(offset)
        if segment is None or offset > self.end.offset:
            raise OffsetOutOfRange(f"Offset {offset} is not in the log.")
        while segment is not None:
            found = segment.reader.find(offset, may_block)
            if found is not None:
                return OffsetMetadata(offset, segment.base_offset, found[0])
            segment = self.segments.higher(segment.base_offset)
        return self.end

    def maybe_convert_to_offset_metadata(self, offset: int) -> OffsetMetadata:
        """The same, but message only where there is no such place, or damage."""
        try:
            return self.convert_to_offset_metadata(offset)
        except (OffsetOutOfRange, CorruptMessage):
            return OffsetMetadata(offset)

    def roll(self, expected_next_offset: int, now_ms: int) -> LogSegment:
        """Seal the active segment and begin a new one, which is returned.

        Its base is ``expected_next_offset`` or the end, whichever is larger. An empty
        active segment with that base (its indexes have no room) is made anew.

        Raises:
            DiskFull, StorageFailure: the active segment stays.
        """
        active = self.active
        base_offset = max(expected_next_offset, self.end.offset)
        is_anew = base_offset == active.base_offset and not active.size
        if not is_anew:
            assert base_offset > active.base_offset, (base_offset, active.base_offset)
            self._remove_stale_files(base_offset)
        segment = LogSegment.create(
            self.files, self.directory, base_offset, self.config, now_ms
        )
        if is_anew:
            active.log.close()
        else:
            try:
                active.seal()
            except KafkaStorageError:
                segment.delete_files()
                raise
        self.segments.add(segment)
        self._make_active(segment)
        self.end = OffsetMetadata(self.end.offset, base_offset, 0)
        return segment

    def _remove_stale_files(self, base_offset: int) -> None:
        for kind in SEGMENT_KINDS:
            path = segment_path(self.directory, base_offset, kind)
            if self.files.exists(path):
                LogLines(_logger, self.directory).warning(
                    "%s is in the way of a new segment: removed", path.name
                )
                self.files.unlink(path)

    def truncate_to(self, offset: int, now_ms: int) -> list[LogSegment]:
        """Remove everything from ``offset`` on; the end is ``offset`` afterwards.

        The batch that holds ``offset`` goes as a whole. Returns the segments that
        went, the files of which are to be deleted. ``offset`` is not below the first
        segment, nor above the end.
        """
        self.cut_count += 1
        gone = [segment for segment in self.segments if segment.base_offset > offset]
        self._remove_from_end(gone)
        self._make_active(self.segments.last)
        self.active.truncate_to(offset, now_ms)
        self.end = OffsetMetadata(offset, self.active.base_offset, self.active.size)
        return gone

    def truncate_fully_and_start_at(self, offset: int, now_ms: int) -> list[LogSegment]:
        """Replace all segments by an empty one; returns those that went."""
        self.cut_count += 1
        gone = list(self.segments)
        self._remove_from_end(gone)
        self._remove_stale_files(offset)
        first = LogSegment.create(
            self.files, self.directory, offset, self.config, now_ms
        )
        self.segments.add(first)
        self._make_active(first)
        self.end = OffsetMetadata(offset, offset, 0)
        return gone

    def _remove_from_end(self, segments: list[LogSegment]) -> None:
        # The last goes first: a log that is found half truncated has no hole.
        self.remove_segments(reversed(segments))

    def remove_segments(self, segments: Iterable[LogSegment]) -> None:
        """Take segments out of the log and rename their files to ``.deleted``.

        The caller deletes the files (`LogSegment.delete_files`) after
        ``file.delete.delay.ms``. The active segment may only go when another follows.
        Where there is no room for the names the files are removed at once.

        Raises:
            DiskFull: not even that: those from the one that was in the way on stay.
        """
        for segment in segments:
            segment.take_away()
            self.segments.remove(segment.base_offset)

    def use_copy(self, directory: Path, segments: LogSegments) -> LogSegments:
        """Go on with ``segments``, which hold the same bytes; returns the old ones."""
        old, self.segments, self.directory = self.segments, segments, directory
        self._make_active(segments.last)
        place = self.active.base_offset, self.active.size
        assert place == self.end[1:], (place, self.end)
        return old

    def moved(self, directory: Path) -> None:
        """The directory has another name now."""
        self.directory = directory
        for segment in self.segments:
            segment.moved(directory)

    def close(self) -> None:
        """Seal the active segment and let go of the files."""
        for segment in self.segments:
            segment.close()


def _read_segment(
    segment: LogSegment,
    start_offset: int,
    size_max: int,
    min_one: bool,
    max_metadata: OffsetMetadata,
    may_block: bool,
) -> FetchedData | None:
    base_offset = segment.base_offset
    if base_offset == max_metadata.segment_base_offset:
        end = max_metadata.position
    elif base_offset < max_metadata.segment_base_offset:
        end = segment.log.size
    else:
        end = 0  # where the readable part ends is not known: nothing
    reader = segment.reader
    if reader.tail is not None:
        kept = reader.tail.read(start_offset, end, size_max, min_one)
        if kept is not None:
            position, records, incomplete = kept
            metadata = _new(OffsetMetadata, (start_offset, base_offset, position))
            return _new(FetchedData, (metadata, records, incomplete, None))
    data = reader.read(start_offset, end, size_max, min_one, may_block)
    if data is None:
        return None
    position, records, incomplete = data
    if (
        records
        and position + len(records) == end
        and (base_offset == max_metadata.segment_base_offset)
    ):
        reader.remember((start_offset, position), (max_metadata.offset, end))
    metadata = _new(OffsetMetadata, (start_offset, base_offset, position))
    return _new(FetchedData, (metadata, records, incomplete, None))

"""A segment that is copied into another directory, a piece at a time.

A sealed segment is copied as it is, its indexes behind it. The active one grows while
it is copied: its whole batches are appended, which makes the indexes on the way, and
when it is sealed so is the copy. Both give the same bytes at the same positions.

Everything here waits for the disk.
"""

from pathlib import Path
from typing import Final, NamedTuple

from odradek.protocol.batch_columns import BatchWalk
from odradek.storage.files.files import MISSING, File, Files
from odradek.storage.formats.index_entry import RELATIVE_OFFSET_MAX
from odradek.storage.formats.transaction_entry import TransactionEntry
from odradek.storage.values.file_names import (
    LOG,
    OFFSET_INDEX,
    TIME_INDEX,
    TRANSACTION_INDEX,
    segment_path,
)
from odradek.storage.values.log_config import LogConfig

from .log_segment import LogSegment

CHUNK_BYTES: Final = 4 << 20
# The disk gets its work evenly: others sync beside it.
_UNSYNCED_MAX: Final = 16 << 20


class Uncopyable(Exception):
    """A growing segment with damage inside: seal it, and it can be copied as it is."""


class Piece(NamedTuple):
    """What a segment held when it was looked at: ``size`` bytes, and what ended there.

    ``end_offset`` is the offset behind them; ``transactions`` are those of an active
    segment.
    """

    source: LogSegment
    size: int
    end_offset: int
    is_sealed: bool
    created_ms: int
    transactions: tuple[TransactionEntry, ...] = ()


class SegmentCopy:
    """The copy of one segment, which is ``segment`` when it ``is_done``."""

    def __init__(
        self,
        files: Files,
        directory: Path,
        piece: Piece,
        config: LogConfig,
    ) -> None:
        self.source = piece.source
        self.end_offset = piece.source.base_offset
        self.is_sealed = False
        self._files = files
        self._directory = directory
        self._config = config
        self._created_ms = piece.created_ms
        self._is_raw = piece.is_sealed
        self._unsynced_bytes = 0
        self.segment = LogSegment.create(
            files, directory, self.source.base_offset, config, piece.created_ms
        )

    @property
    def size(self) -> int:
        """The bytes of its log file."""
        return self.segment.size

    def is_up_to(self, piece: Piece) -> bool:
        """Whether it holds the piece."""
        return self.size == piece.size and self.is_sealed == piece.is_sealed

    def advance(self, piece: Piece, origin: Path, bytes_max: int) -> int:
        """Copy on, up to about ``bytes_max``. Returns how many bytes that were.

        ``origin`` is where the segment is.

        Raises:
            Uncopyable: it is the active one, and damaged.
            FileNotFoundError: the segment has gone meanwhile, or was cut.
            KafkaStorageError: a disk fails, or is full.
        """
        before = self.size
        path = segment_path(origin, self.source.base_offset, LOG)
        source = self._files.open(path)
        try:
            while (room := piece.size - self.size) and (
                left := bytes_max - self.size + before
            ) > 0:
                self._append(source, room, min(room, left, CHUNK_BYTES))
        finally:
            source.close()
        if self.size == piece.size:
            self._end(piece, origin)
        return self.size - before

    def dirty_files(self) -> list[File]:
        """The files with bytes that are not synced; index entries are flushed."""
        if not self.is_sealed:
            self.segment.flush_indexes()
        return self.segment.dirty_files()

    def handed_over(self) -> LogSegment:
        """The segment for the log. What readers get of it is verified as if found."""
        segment = self.segment
        segment.reader.distrust()
        segment.reader.quarantined = self.source.reader.quarantined
        segment.config = self.source.config
        return segment

    def remove(self) -> None:
        """Remove its files."""
        self.segment.delete_files()

    def _append(self, source: File, room: int, size: int) -> None:
        data = source.read_at(self.size, size)
        if len(data) < size:
            raise FileNotFoundError(f"{source.path} was cut")
        if self._is_raw:
            self.segment.log.append(data)
        else:
            whole = self._whole_batches(data)
            while not whole and size < room:  # a large batch
                size = min(size * 4, room)
                data = source.read_at(self.size, size)
                whole = self._whole_batches(data)
            if not whole:
                raise Uncopyable(f"{source.path}: no batch at {self.size}")
            self.segment.append_batches(data[:whole])
        self._unsynced_bytes += len(data)
        if self._unsynced_bytes >= _UNSYNCED_MAX:
            self.segment.log.sync()
            self._unsynced_bytes = 0

    def _whole_batches(self, data: memoryview) -> int:
        """The bytes of the whole batches at the start of ``data``."""
        walk, start, size = BatchWalk(len(data)), self.size, 0
        base_offset = self.source.base_offset
        offsets = base_offset, base_offset + RELATIVE_OFFSET_MAX
        while size < len(data):
            run = walk.run(data[size:], start + size, offsets, checks_crc=False)
            if run is None:
                break
            size = run.end - start
            self.end_offset = run.columns.next_offsets[run.length - 1]
        return size

    def _end(self, piece: Piece, origin: Path) -> None:
        self.end_offset = piece.end_offset
        if self._is_raw:
            self._copy_indexes(origin)
            return
        known = len(self.segment.transactions.entries())
        for entry in piece.transactions[known:]:
            self.segment.transactions.append(entry)
        if piece.is_sealed:
            self.segment.seal()
            self.is_sealed = True

    def _copy_indexes(self, origin: Path) -> None:
        """Copy what there is beside the log file; what is missing is made from it."""
        base_offset = self.source.base_offset
        for kind in (OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX):
            path = segment_path(origin, base_offset, kind)
            if self._files.exists(path):
                copy_file(
                    self._files, path, segment_path(self._directory, base_offset, kind)
                )
        self.segment.log.sync()
        self.segment.log.close()
        self.segment = LogSegment(
            self._files, self._directory, base_offset, self._config, self._created_ms
        )
        self.is_sealed = True


def copy_file(files: Files, source: Path, target: Path) -> bool:
    """Copy a small file, durably but for its name. False: it has gone."""
    try:
        data = files.read_bytes(source)
    except MISSING:
        return False
    files.unlink(target)
    file = files.open(target, create=True)
    file.append(data)
    file.sync()
    file.close()
    return True

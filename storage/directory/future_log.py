"""The future log of a partition (KIP-113): its copy in another log directory.

It lies in ``topic-partition.<32 hex>-future`` and follows the log, which goes on as
always: the loop says what there is (`plan`), a disk thread copies what is missing
(`copy`), until little enough is missing for `log_move` to exchange the two.

What happens to the log meanwhile is followed too: segments that were deleted are
deleted, one that another has taken the place of, or a log whose end was cut, is copied
anew. Compaction is kept away by who moves the log.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from odradek.storage.files.checkpoints import EPOCHS_NAME
from odradek.storage.files.files import Files
from odradek.storage.files.partition_metadata import (
    PARTITION_METADATA_NAME,
    format_partition_metadata,
)
from odradek.storage.local.quarantine import QUARANTINE_NAME
from odradek.storage.local.segments import LogSegments
from odradek.storage.local.unsynced import Unsynced
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.producers.snapshot import list_snapshots, snapshot_name
from odradek.storage.segment.copy import Piece, SegmentCopy, copy_file
from odradek.storage.values.offset_metadata import OffsetMetadata


class CopyPlan(NamedTuple):
    """What a log held at one moment, up to ``end_offset``; values for a disk thread."""

    origin: Path
    pieces: tuple[Piece, ...]
    end_offset: int
    cut_count: int

    @property
    def size(self) -> int:
        """The bytes of the batches."""
        return sum(piece.size for piece in self.pieces)


class FutureLog:
    """The copy of ``log`` in ``directory``. One call at a time."""

    def __init__(self, files: Files, log: UnifiedLog, directory: Path) -> None:
        self.directory = directory
        self._files = files
        self._log = log
        self._copies: dict[int, SegmentCopy] = {}
        self._cut_count = log.local.cut_count
        self._snapshots: set[int] = set()

    # What it has; for the loop, at any time

    @property
    def size(self) -> int:
        """The bytes of batches that were copied."""
        return sum(copy.size for copy in list(self._copies.values()))

    @property
    def end_offset(self) -> int:
        """The offset behind what was copied."""
        copies = list(self._copies.values())
        return max((copy.end_offset for copy in copies), default=0)

    @property
    def segment_bases(self) -> list[int]:
        """Where the segments begin that were copied, or begun."""
        return sorted(self._copies)

    def plan(self) -> CopyPlan:
        """What there is to be copied, of all segments. On the loop."""
        local = self._log.local
        pieces = []
        for segment in local.segments:
            is_sealed = segment is not local.active
            pieces.append(
                Piece(
                    segment,
                    segment.size,
                    segment.reader.end.limit if is_sealed else local.end.offset,
                    is_sealed,
                    segment.created_ms,
                    () if is_sealed else tuple(segment.transactions.entries()),
                )
            )
        return CopyPlan(
            local.directory, tuple(pieces), local.end.offset, local.cut_count
        )

    # What waits for the disk; for a disk thread, or on the loop when little is left

    def create(self) -> None:
        """Make the directory."""
        self._files.mkdir(self.directory)
        metadata = format_partition_metadata(self._topic_id)
        self._put(PARTITION_METADATA_NAME, (metadata,))
        self.sync_names()

    def missing(self, plan: CopyPlan) -> int:
        """How many bytes of the plan are still to be copied."""
        if plan.cut_count != self._cut_count:
            return plan.size
        return sum(piece.size - self._size_of(piece) for piece in plan.pieces)

    def copy(self, plan: CopyPlan, bytes_max: int) -> bool:
        """Copy on, about ``bytes_max`` of it. Returns whether the plan is fulfilled.

        Raises:
            Uncopyable: the active segment is damaged; to be rolled.
            FileNotFoundError: a segment has gone: to be planned anew.
            KafkaStorageError: a disk fails, or is full.
        """
        self._drop_stale(plan)
        for piece in plan.pieces:
            base_offset = piece.source.base_offset
            copy = self._copies.get(base_offset)
            if copy is None:
                config = self._log.config
                copy = SegmentCopy(self._files, self.directory, piece, config)
                self._copies[base_offset] = copy
            if not copy.is_up_to(piece):
                bytes_max -= copy.advance(piece, plan.origin, bytes_max)
                if not copy.is_up_to(piece):
                    return False
        return True

    def forget(self, base_offset: int) -> None:
        """Copy a segment anew."""
        self._copies.pop(base_offset).remove()

    def sync(self) -> None:
        """Make durable what was copied; the producers' snapshots are copied with it."""
        for copy in list(self._copies.values()):
            for file in copy.dirty_files():
                file.sync()
        origin = self._log.directory
        for offset in list_snapshots(self._files, origin):
            name = snapshot_name(offset)
            if offset not in self._snapshots and copy_file(
                self._files, origin / name, self.directory / name
            ):
                self._snapshots.add(offset)
        self.sync_names()

    def write(self, texts: Mapping[str, Iterable[bytes]]) -> None:
        """Write the small files of the log, each in parts, durably."""
        for name, parts in texts.items():
            self._put(name, parts)
        self.sync()

    def sync_names(self) -> None:
        """Make the names durable."""
        self._files.sync_directory(self.directory)
        self._files.sync_directory(self.directory.parent)

    # The end, on the loop

    def texts(self) -> Mapping[str, Iterable[bytes]]:
        """The small files beside the segments, as they are now, each in parts."""
        log = self._log
        texts: dict[str, Iterable[bytes]] = {
            EPOCHS_NAME: (log.epochs.encode(),),
            snapshot_name(log.log_end_offset): log.producers.picture().parts(),
        }
        if len(log.quarantine):
            texts[QUARANTINE_NAME] = (log.quarantine.encode(),)
        return texts

    def hand_over(self, snapshot_offset: int) -> LogSegments:
        """Let the log go on with the copy, which holds all of it; the old segments.

        ``snapshot_offset`` is that of the `texts` that were written.
        """
        log, unsynced = self._log, Unsynced()
        unsynced.note_new_directory({})
        unsynced.note_snapshot(OffsetMetadata(snapshot_offset))
        segments = LogSegments(copy.handed_over() for copy in self._copies.values())
        for copy in self._copies.values():
            if copy.is_sealed and copy.segment.dirty_files():
                unsynced.note_roll(copy.segment)
        self._copies = {}
        return log.use_copy(self.directory, segments, unsynced)

    @property
    def _topic_id(self) -> bytes:
        return self._log.topic_id

    def _size_of(self, piece: Piece) -> int:
        copy = self._copies.get(piece.source.base_offset)
        return copy.size if copy is not None and copy.source is piece.source else 0

    def _drop_stale(self, plan: CopyPlan) -> None:
        """Remove the copies of segments that are not what they were."""
        sources = {piece.source.base_offset: piece.source for piece in plan.pieces}
        is_cut = plan.cut_count != self._cut_count
        if is_cut:
            # Of the producers of what was cut; `sync` takes those that are left, and
            # `texts` were those of a log that ended elsewhere.
            for offset in list_snapshots(self._files, self.directory):
                self._files.unlink(self.directory / snapshot_name(offset))
            self._snapshots.clear()
        for base_offset, copy in list(self._copies.items()):
            if is_cut or sources.get(base_offset) is not copy.source:
                self.forget(base_offset)
        self._cut_count = plan.cut_count

    def _put(self, name: str, parts: Iterable[bytes]) -> None:
        path = self.directory / name
        self._files.unlink(path)
        file = self._files.open(path, create=True)
        for part in parts:
            file.append(part)
        file.sync()
        file.close()

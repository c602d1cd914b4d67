"""The read side of a segment: batches by offset and by time, past damage.

Invariants:
- What this process appended is trusted. What it found in the file is verified before
  a reader gets it for the first time, the way from the index entry included: a
  mangled length must not lead past sound batches.
- Damaged ranges (`quarantined`) are passed over. A read that begins in one gets an
  empty batch with its offsets, a read that reaches one ends before it.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final, TypeAlias

from odradek.protocol.record_batch import BATCH_OVERHEAD, BatchHeader, read_header, scan
from odradek.protocol.records import iterate
from odradek.storage.files.files import Buffer, ColdRead, File
from odradek.storage.formats.quarantine_entry import QuarantineEntry, empty_batch
from odradek.storage.indexes.mapped_index import CorruptIndex
from odradek.storage.indexes.offset_index import OffsetPosition
from odradek.storage.scan.batch_walk import find_batch, is_whole_batch, last_offset_at
from odradek.storage.values.log_read import SegmentRead, TimestampOffset

from .batch_verification import BatchVerification, DamagedBatch, VerifiedRun
from .damage_extent import is_offset_wrong
from .indexes import SegmentIndexes
from .offset_gap import is_gap_before
from .tail import LogTail

if TYPE_CHECKING:
    from odradek.storage.files.tail_memory import TailMemory

_LOOKUP_SIZE = 8192
_SEARCH_SIZE = 65536
_UNKNOWN: Final = -1

# Where a batch is, its size, and what was read from there on.
_Found: TypeAlias = tuple[int, int, memoryview]

# NamedTuple's own constructor costs three times as much as the tuple.
_new = tuple.__new__
_start = attrgetter("start")


class SegmentReader:
    """Finds and reads the batches of one log file.

    ``end``, which the indexes know, too, bounds their offsets. ``tail`` has the newest
    of them in memory, once some were appended.
    """

    def __init__(self, base_offset: int, log: File, indexes: SegmentIndexes) -> None:
        self.base_offset = base_offset
        self.log = log
        self.indexes = indexes
        self.end = indexes.end
        self.distrust()
        self._known = {base_offset: 0}
        self.tail: LogTail | None = None  # until a batch is kept
        self._quarantined: tuple[QuarantineEntry, ...] = ()

    def distrust(self) -> None:
        """Verify whatever is in the file by now as if it had been found there."""
        self.verification = BatchVerification(self.log.size, self.base_offset)

    @property
    def quarantined(self) -> Sequence[QuarantineEntry]:
        """The damaged ranges, in the order of their bytes."""
        return self._quarantined

    @quarantined.setter
    def quarantined(self, entries: Sequence[QuarantineEntry]) -> None:
        self._quarantined = tuple(sorted(entries, key=_start))
        self.indexes.pass_over(self._quarantined)
        self.forget_places()

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
            DamagedBatch: the first batch is damaged, or the way to it.
        """
        end = self.log.size if max_position is None else max_position
        known = self._known.get(start_offset, end)
        if known < end:
            records: Buffer = self.log.read_at(
                known, min(end - known, size_max), may_block
            )
            if is_whole_batch(records):
                if known < self.verification.trusted_from:
                    records = self._verified(records, known, may_block)
                return _new(SegmentRead, (known, records, False))
        more = min(size_max, _LOOKUP_SIZE)
        try:
            if self._quarantined:
                found = self._find_past_damage(start_offset, may_block, more)
            else:
                start = self.indexes.floor(start_offset, may_block)
                found = self._walk(start, self.log.size, start_offset, may_block, more)
        except ColdRead as cold:
            cold.size += size_max  # warm what will be read next, too
            raise
        if found is None:
            return None
        position, batch_size, data = found
        if self._quarantined:
            if not batch_size:
                return self._read_passed(data, position, end, size_max, min_one)
            end = min(end, self._sound_end(position + batch_size))
        limit = max(size_max, batch_size) if min_one else size_max
        size = max(0, min(end - position, limit))
        if len(data) < size:
            data = self.log.read_at(position, size, may_block)
        records = self._verified(data[:size], position, may_block)
        return _new(SegmentRead, (position, records, limit < batch_size))

    def begin_tail(self, memory: "TailMemory") -> LogTail:
        """Keep what is appended from now on, for who reads at the end."""
        self.tail = LogTail(memory)
        return self.tail

    def remember(self, first: tuple[int, int], last: tuple[int, int]) -> None:
        """Keep offset and position of where a read up to the log end began and ended.

        Readers at the end ask for the same as others before them, and then again for
        where they stopped: that saves them the index.
        """
        if not self._quarantined:
            self._known = dict((first, last))

    def forget_places(self) -> None:
        """Look for every offset again: the file was cut, or damage found."""
        if self.tail is not None:
            self.tail.clear()
        self._known = {} if self._quarantined else {self.base_offset: 0}

    def find(self, offset: int, may_block: bool = True) -> tuple[int, int] | None:
        """Position and size of the first batch that ends at or above ``offset``.

        If that is in a damaged range, the range's position and a size of 0.

        Raises:
            ColdRead: ``may_block`` is False and the bytes are not cached.
            DamagedBatch: the way there is damaged.
        """
        found = self._find(offset, may_block)
        return None if found is None else found[:2]

    def find_offset_by_timestamp(
        self, timestamp: int, start_offset: int = 0, may_block: bool = True
    ) -> TimestampOffset | None:
        """The first record at or above ``start_offset`` that is not earlier.

        Raises:
            ColdRead: ``may_block`` is False and the bytes are not cached.
            DamagedBatch: a batch on the way is damaged.
        """
        offset = max(
            self.indexes.offset_before_time(timestamp, may_block), start_offset
        )
        while (found := self._find(offset, may_block)) is not None:
            at, batch_size, data = found
            if not batch_size:
                offset = read_header(data).next_offset
                continue
            size = max(batch_size, _SEARCH_SIZE)
            data = self.log.read_at(
                at, min(size, self._sound_end(at + batch_size) - at), may_block
            )
            for position, header in scan(self._verified(data, at, may_block)):
                offset = header.next_offset
                if header.max_timestamp < timestamp:
                    continue
                for record in iterate(data[position : position + header.size]):
                    if record.timestamp >= timestamp and record.offset >= start_offset:
                        return TimestampOffset(
                            record.timestamp,
                            record.offset,
                            header.partition_leader_epoch,
                        )
        return None

    # Finding

    def _find(self, offset: int, may_block: bool, size_more: int = 0) -> _Found | None:
        if self._quarantined:
            return self._find_past_damage(offset, may_block, size_more)
        start = self.indexes.floor(offset, may_block)
        return self._walk(start, self.log.size, offset, may_block, size_more)

    def _find_past_damage(
        self, offset: int, may_block: bool, size_more: int
    ) -> _Found | None:
        """The batch, or the damaged range as an empty batch of size 0.

        A range says where damage is; which offsets it holds may be said too widely,
        so a sound batch before it comes first.
        """
        passed = self._range_from(offset)
        limit = self.log.size if passed is None else passed.start
        start = self.indexes.floor(offset, may_block)
        for position, end in self._sound_pieces(start.position, limit):
            if position > start.position:
                start = OffsetPosition(_UNKNOWN, position)
            found = self._walk(start, end, offset, may_block, size_more)
            if found is not None:
                return found
        return None if passed is None else _empty(passed, offset)

    def _walk(
        self,
        start: OffsetPosition,
        limit: int,
        offset: int,
        may_block: bool,
        size_more: int,
    ) -> _Found | None:
        """The first batch between ``start`` and ``limit`` that ends at ``offset`` or
        above, with what was read from there on.

        That is often the whole batch when ``size_more`` is what a reader wants: the
        way from an index entry and a small read behind it then are one.
        """
        log = self.log
        indexed, position = start
        size_more += _LOOKUP_SIZE
        room = limit - position
        data = log.read_at(position, size_more if size_more < room else room, may_block)
        if position and last_offset_at(data) != indexed != _UNKNOWN:
            self._distrust_index(position, may_block)
            return self._find(offset, may_block, size_more)
        while data:
            step, size = find_batch(data, offset)
            position += step
            if size > 0 and position + size <= limit:
                if start.position < self.verification.trusted_from:
                    self._verify_way(start.position, position + size, may_block)
                return position, size, data[step:]
            if size or not step:
                raise self._damaged(position, "a batch is cut short")
            if position >= limit:
                break
            data = log.read_at(position, min(size_more, limit - position), may_block)
        if position != limit:
            raise self._damaged(position, "a batch leads out of the log")
        if start.position < self.verification.trusted_from:
            self._verify_way(start.position, limit, may_block)
        return None

    def _distrust_index(self, position: int, may_block: bool) -> None:
        """Make the indexes anew: another batch than they say is at ``position``."""
        if self.indexes.are_certain or is_offset_wrong(self, position):
            raise self._damaged(position, "not the batch that was here")
        why = CorruptIndex(f"{self.log.path}: position {position} is indexed wrongly")
        self.indexes.rebuild(why, may_block)

    # Damaged ranges

    def _range_from(self, offset: int) -> QuarantineEntry | None:
        """The first damaged range with ``offset`` or one above it."""
        for entry in self._quarantined:
            if entry.last_offset >= offset and entry.has_offsets:
                return entry
        return None

    def _sound_pieces(self, position: int, limit: int) -> Iterator[tuple[int, int]]:
        """What lies between the damaged ranges, from ``position`` up to ``limit``."""
        for entry in self._quarantined:
            if entry.start >= limit:
                break
            if entry.start > position:
                yield position, entry.start
            position = max(position, entry.end)
        if position < limit:
            yield position, limit

    def _read_passed(
        self, empty: memoryview, position: int, end: int, size_max: int, min_one: bool
    ) -> SegmentRead:
        """An empty batch in place of the damaged range at ``position``.

        Nothing, if what may be seen ends before the range does.
        """
        size = max(size_max, BATCH_OVERHEAD) if min_one else size_max
        passed = self._range_from(read_header(empty).last_offset)
        if passed is None or passed.end > end:
            return SegmentRead(position, b"", False)
        return SegmentRead(position, empty[:size], size < BATCH_OVERHEAD)

    def _sound_end(self, position: int) -> int:
        """Where the first damaged range from ``position`` on begins."""
        behind = bisect_left(self._quarantined, position, key=_start)
        if behind < len(self._quarantined):
            return self._quarantined[behind].start
        return self.log.size

    # Verification

    def _verified(self, data: Buffer, position: int, may_block: bool) -> Buffer:
        """What of ``data``, read at ``position``, may be handed out."""
        verification = self.verification
        if position >= verification.trusted_from:
            return data
        run = verification.run_at(position)
        if run is None:
            run = self._verify_up_to(position, may_block)
        size = self._check(run, data, position, may_block)
        if data and not size:
            raise self._damaged(position, "no valid batch")
        return data[:size]

    def _verify_way(self, start: int, end: int, may_block: bool) -> None:
        """Verify all batches from ``start`` up to ``end``.

        One between them may say offsets that make a walk pass over it.
        """
        run = self.verification.run_at(start)
        if run is None:
            run = self._run_before(start + 1, may_block)
        self._extend(run, end, may_block)

    def _verify_up_to(self, end: int, may_block: bool) -> VerifiedRun:
        """Verify the batches that lead to ``end``, from the index entry before it."""
        run = self.verification.run_at(end) or self._run_before(end, may_block)
        return self._extend(run, end, may_block)

    def _extend(self, run: VerifiedRun, end: int, may_block: bool) -> VerifiedRun:
        """Verify what lies between a run and ``end``, but for what is trusted."""
        size, verification = _LOOKUP_SIZE, self.verification
        while run.end < end and run.end < verification.trusted_from:
            position = run.end
            data = self.log.read_at(position, min(size, end - position), may_block)
            good = self._check(run, data, position, may_block)
            if good < len(data) or (run.end == position and size >= end - position):
                raise self._damaged(run.end, "no valid batch")
            size = _LOOKUP_SIZE if run.end > position else 2 * size
        return run

    def _run_before(self, end: int, may_block: bool) -> VerifiedRun:
        """The run to which what leads to ``end`` is added."""
        indexed, position = self.indexes.before_position(end, may_block)
        expected = self.base_offset
        for entry in self._quarantined:
            if position < entry.end <= end or entry.start <= position < entry.end:
                indexed, position = _UNKNOWN, entry.end
                expected = entry.last_offset + 1
        run = self.verification.nearest_run(end)
        if run is not None and run.end >= position:
            return run
        if position and indexed != _UNKNOWN:
            header = read_header(self.log.read_at(position, BATCH_OVERHEAD, may_block))
            if header.last_offset != indexed:
                self._distrust_index(position, may_block)
                return self._run_before(end, may_block)
            expected = header.base_offset
        return self.verification.begin(position, expected)

    def _check(
        self, run: VerifiedRun, data: Buffer, position: int, may_block: bool
    ) -> int:
        def is_gap(header: BatchHeader) -> bool:
            return is_gap_before(self, run.end, header, run.next_offset, may_block)

        return self.verification.check(run, data, position, self.end.limit, is_gap)

    def _damaged(self, position: int, message: str) -> DamagedBatch:
        return DamagedBatch(
            self.base_offset,
            position,
            f"{self.log.path}: position {position}: {message}",
        )


def _empty(passed: QuarantineEntry, offset: int) -> _Found:
    return passed.start, 0, memoryview(empty_batch(passed, offset))

"""Reading a log file batch by batch, past damage, to find out what of it is valid.

A batch is valid when its header is plausible, it lies wholly in the file and matches
its checksum. The checksum does not cover the base offset: where that does not continue
what came before, the batches that follow are asked (`offset_claims`). A wrong one is
put right where its neighbours leave no choice; the batch counts as damaged where not.

Behind damage the scan looks for the next valid batch, at every byte. So one flipped
bit costs one batch, and a tail in which nothing valid follows is told apart from
damage inside.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Set
from itertools import islice
from typing import NamedTuple, TypeAlias

from odradek.protocol.batch_columns import BatchRun, BatchWalk, FoundBatch, single_run
from odradek.protocol.checksum import crc32c
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    CURRENT_MAGIC,
    LOG_OVERHEAD,
    BatchHeader,
    read_header,
    stamp_base_offset,
)
from odradek.storage.files.files import File
from odradek.storage.formats.index_entry import RELATIVE_OFFSET_MAX
from odradek.storage.indexes.offset_index import IndexedOffsets

from .offset_claims import Bounds, Claim, settle
from .result import DamagedRange, OffsetRepair, Recovery

_CHUNK_SIZE = 4 << 20
_FIRST_CHUNK_SIZE = 64 << 10
_CRC_START = 21
_MAGIC_POSITION = 16
_MAGIC = bytes([CURRENT_MAGIC])

_AHEAD_MIN = 256 << 10
# So many batches are asked which of them have wrong offsets; the last of them only
# testify, unless the log ends there.
_ASKED = 16
_WITNESSES = 8

OnRun: TypeAlias = Callable[[BatchRun], None]


class Expected(NamedTuple):
    """What is known of the offsets in a file besides its batches.

    ``start`` is that of the first batch. When it is not known, an index entry led to
    the batch, which by it ends at ``start_indexed``. ``end`` follows the last batch,
    and at ``boundary`` one ended. None is more than ``relative_offset_max`` above the
    base offset. ``has_gaps`` where compaction may have left out offsets; ``holes`` are
    the positions at which batches are known to be missing.
    """

    start: int | None = None
    end: int | None = None
    relative_offset_max: int = RELATIVE_OFFSET_MAX
    has_gaps: bool = True
    indexed: IndexedOffsets | None = None
    start_indexed: int | None = None
    boundary: int | None = None
    holes: Set[int] = frozenset()


_NOTHING = Expected()


class BatchScan:
    """The valid batches of a log file from ``start`` on, in order.

    They have the right offsets, whatever the file says.

    Iterate for one after another, or over `runs` for many at a time: the same batches,
    but where they are small a hundred times faster.
    """

    def __init__(
        self,
        log: File,
        start: int,
        base_offset: int,
        checks_crc: bool = True,
        expected: Expected = _NOTHING,
    ) -> None:
        self._log = log
        self._checks_crc = checks_crc
        self._start = self._valid_end = start
        self._limit = base_offset + expected.relative_offset_max + 1
        self._expected = expected
        self._indexed = expected.indexed
        self._is_sure = not start or expected.start is not None  # of the next offset
        self._next_offset = base_offset if expected.start is None else expected.start
        self._damaged: list[DamagedRange] = []
        self._repairs: list[OffsetRepair] = []
        self._chunk = memoryview(b"")
        self._chunk_size = _FIRST_CHUNK_SIZE  # doubled with every read
        self._chunk_start = start

    def recovery(self) -> Recovery:
        """What was found, once the scan has ended."""
        return Recovery(
            self._valid_end,
            self._next_offset,
            self._log.size,
            tuple(self._damaged),
            tuple(self._repairs),
        )

    def runs(self) -> Iterator[BatchRun]:
        """The batches, as many at a time as lie one behind another.

        The columns of a run hold until the next one is asked for.
        """
        walk = BatchWalk(self._log.size - self._valid_end)
        while True:
            run = self._next_run(walk)
            if run is not None:
                self._valid_end, self._next_offset = run.end, run.next_offset
                yield run
            elif (found := next(iter(self), None)) is not None:
                position, header, batch = found
                yield single_run(position, batch, header)
            else:
                return

    def _next_run(self, walk: BatchWalk) -> BatchRun | None:
        """The run that follows; None when it is too short, or to be doubted.

        What continues what came before is certain. Behind a gap a batch is, when many
        follow that do not contradict it.
        """
        position = self._valid_end
        if not self._is_sure or self._next_offset >= self._limit:
            return None
        run = walk.run(
            self._ahead(position),
            position,
            (self._next_offset, self._limit - 1),
            self._checks_crc,
        )
        if run is None:
            return None
        bases, nexts = run.columns.base_offsets, run.columns.next_offsets
        has_gap = bases[0] != self._next_offset
        if not has_gap and bases[1:] == nexts[:-1]:
            return run
        certain = 0
        if not has_gap:
            certain = 1 + next(
                place for place in range(run.length) if bases[place + 1] != nexts[place]
            )
        undoubted = run.length
        if self._indexed is not None:
            undoubted = self._first_doubt(run, self._indexed)
        return run.part(0, max(certain, undoubted - _WITNESSES))

    def _first_doubt(self, run: BatchRun, indexed: IndexedOffsets) -> int:
        """The place of the first batch of which the index says something else."""
        positions, nexts = run.columns.positions, run.columns.next_offsets
        for last_offset, position in indexed.between(run.start, run.end):
            place = bisect_left(positions, position - run.position)
            if positions[place] == position - run.position and (
                nexts[place] != last_offset + 1
            ):
                return place
        return run.length

    def __iter__(self) -> Iterator[FoundBatch]:
        whole = self._whole_batches()
        asked: list[FoundBatch] = []
        while True:
            while asked and self._continues(asked[0]):
                yield self._accepted(asked.pop(0))
            if not asked:
                found = next(whole, None)
                if found is None:
                    return
                asked.append(found)
                continue
            asked += islice(whole, _ASKED - len(asked))
            yield from self._settle(asked)

    def _continues(self, found: FoundBatch) -> bool:
        """Whether a batch follows what came before, so that its offset is right."""
        position, header, _ = found
        return (
            self._is_sure
            and position == self._valid_end
            and header.base_offset == self._next_offset
            and header.next_offset <= self._limit
            and self._indexed_base(position, header) in (None, header.base_offset)
        )

    def _indexed_base(self, position: int, header: BatchHeader) -> int | None:
        last_offset = None
        if position == self._start and not self._is_sure:
            last_offset = self._expected.start_indexed
            if last_offset is None:
                return header.base_offset
        elif self._indexed is not None:
            for entry in self._indexed.between(position, position + 1):
                last_offset = entry.offset
        return None if last_offset is None else last_offset - header.last_offset_delta

    def _settle(self, asked: list[FoundBatch]) -> Iterator[FoundBatch]:
        """Decide about the first of some batches, which are taken out of the list.

        All of them, when there are fewer than were to be asked: the log ends there.
        """
        is_end = len(asked) < _ASKED
        offsets = settle(self._claims(asked), self._bounds(asked, is_end))
        count = len(asked) if is_end else len(asked) - _WITNESSES
        settled = [place for place in range(count) if offsets[place] is not None]
        # One that was not settled may be when the next ones have been asked.
        count = settled[-1] + 1 if settled and not is_end else count
        for found, base_offset in zip(asked[:count], offsets, strict=False):
            if base_offset is not None:
                yield self._accepted(self._repaired(found, base_offset))
        del asked[:count]

    def _claims(self, asked: list[FoundBatch]) -> list[Claim]:
        claims, end, holes = [], self._valid_end, self._expected.holes
        for position, header, _ in asked:
            claims.append(
                Claim(
                    header.base_offset,
                    header.last_offset_delta + 1,
                    position > end or position in holes,
                    self._indexed_base(position, header),
                )
            )
            end = position + header.size
        return claims

    def _bounds(self, asked: list[FoundBatch], is_end: bool) -> Bounds:
        expected, size = self._expected, self._log.size
        position, header, _ = asked[-1]
        return Bounds(
            self._next_offset,
            self._limit,
            self._is_sure,
            expected.end if is_end else None,
            is_end and (position + header.size < size or size in expected.holes),
            expected.boundary,
            expected.has_gaps,
        )

    def _repaired(self, found: FoundBatch, base_offset: int) -> FoundBatch:
        """The batch with this base offset."""
        position, header, batch = found
        claimed = header.base_offset
        if base_offset == claimed:
            return found
        header = header._replace(base_offset=base_offset)
        self._repairs.append(
            OffsetRepair(
                position,
                header.size,
                claimed,
                base_offset,
                header.last_offset,
                header.partition_leader_epoch,
            )
        )
        right = bytearray(batch)
        stamp_base_offset(right, base_offset)
        return position, header, memoryview(right)

    def _accepted(self, found: FoundBatch) -> FoundBatch:
        position, header, _ = found
        if position > self._valid_end:
            self._damaged.append(
                DamagedRange(
                    self._valid_end, position, self._next_offset, header.base_offset
                )
            )
        self._valid_end = position + header.size
        self._next_offset = header.next_offset
        self._is_sure = True
        return found

    def _whole_batches(self) -> Iterator[FoundBatch]:
        position, end = self._valid_end, self._log.size
        while position + BATCH_OVERHEAD <= end:
            header = read_header(self._bytes(position, BATCH_OVERHEAD))
            if self._is_valid(position, header, self._checks_crc):
                yield position, header, self._bytes(position, header.size)
                position += header.size
            else:
                position = self._next_valid(position, header)

    def _is_valid(self, position: int, header: BatchHeader, checks_crc: bool) -> bool:
        size = header.batch_length + LOG_OVERHEAD
        return (
            header.magic == CURRENT_MAGIC
            and BATCH_OVERHEAD <= size <= self._log.size - position
            and 0 <= header.last_offset_delta <= RELATIVE_OFFSET_MAX
            and (not checks_crc or self._crc(position, size) == header.crc)
        )

    def _crc(self, position: int, size: int) -> int:
        """The checksum of a batch, piece by piece when a length may be a lie."""
        if size <= _CHUNK_SIZE:
            return crc32c(self._bytes(position, size)[_CRC_START:])
        crc, position, end = 0, position + _CRC_START, position + size
        while position < end:
            data = self._log.read_at(position, min(end - position, _CHUNK_SIZE))
            crc = crc32c(data, crc)
            position += len(data)
        return crc

    def _next_valid(self, position: int, damaged: BatchHeader) -> int:
        """Where the next valid batch begins; the end of the file if nowhere.

        The damaged batch says where it ends. If a valid one begins there, only a
        chain of batches that leads up to it can be between: what a record holds may
        look like a batch, too.
        """
        end = self._log.size
        target = position + damaged.batch_length + LOG_OVERHEAD
        if damaged.batch_length <= 0 or not self._is_whole(target):
            target = end
        for candidate in self._candidates(position, target):
            if self._is_next(candidate) and (
                target == end or self._leads_to(candidate, target)
            ):
                return candidate
        return target

    def _is_whole(self, position: int, offset_min: int | None = None) -> bool:
        """Whether a batch begins there, with plausible offsets if it has to have."""
        if position + BATCH_OVERHEAD > self._log.size:
            return False
        header = read_header(self._bytes(position, BATCH_OVERHEAD))
        is_plausible = offset_min is None or (
            offset_min <= header.base_offset and header.next_offset <= self._limit
        )
        return is_plausible and self._is_valid(position, header, True)

    def _is_next(self, position: int) -> bool:
        return self._is_whole(position, self._next_offset) or self._leads_on(position)

    def _leads_on(self, position: int) -> bool:
        """Whether one is there with an offset that it cannot have.

        It is one, and no bytes of a record, when the next batch begins behind it.
        """
        start = self._log.read_at(position, BATCH_OVERHEAD)
        if len(start) < BATCH_OVERHEAD:
            return False
        header = read_header(start)
        end = position + header.size
        return (
            self._is_valid(position, header, checks_crc=False)
            and end + BATCH_OVERHEAD <= self._log.size
            and self._log.read_at(end + _MAGIC_POSITION, 1) == _MAGIC
            and self._is_whole(end, self._next_offset)
            and self._is_valid(position, header, checks_crc=True)
        )

    def _leads_to(self, position: int, target: int) -> bool:
        while position < target and self._is_next(position):
            position += read_header(self._bytes(position, BATCH_OVERHEAD)).size
        return position == target

    def _candidates(self, position: int, end: int) -> Iterator[int]:
        """Where the magic byte could be that of a batch behind ``position``."""
        position += 1 + _MAGIC_POSITION
        while position < end:
            piece = bytes(self._log.read_at(position, min(end - position, _CHUNK_SIZE)))
            if not piece:
                return
            at = piece.find(_MAGIC)
            while at >= 0:
                yield position + at - _MAGIC_POSITION
                at = piece.find(_MAGIC, at + 1)
            position += len(piece)

    def _ahead(self, position: int) -> memoryview:
        """A large piece of the file from ``position`` on."""
        at = position - self._chunk_start
        left = len(self._chunk) - at
        if at < 0 or left < min(_AHEAD_MIN, self._log.size - position):
            return self._bytes(position, min(_CHUNK_SIZE, self._log.size - position))
        return self._chunk[at:]

    def _bytes(self, position: int, size: int) -> memoryview:
        """``size`` bytes of the file, out of a chunk that is read ahead."""
        at = position - self._chunk_start
        if at < 0 or at + size > len(self._chunk):
            self._chunk = self._log.read_at(position, max(size, self._chunk_size))
            self._chunk_size = min(2 * self._chunk_size, _CHUNK_SIZE)
            self._chunk_start, at = position, 0
        return self._chunk[at : at + size]

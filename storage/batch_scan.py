"""Reading a log file batch by batch, past damage, to find out what of it is valid.

A batch is valid when its header is plausible, it lies wholly in the file and matches
its checksum. The checksum does not cover the base offset: of two neighbours whose
offsets contradict each other, the one that does not continue what came before is the
damaged one.

Behind damage the scan looks for the next valid batch, at every byte. So one flipped
bit costs one batch, and a tail in which nothing valid follows is told apart from
damage inside.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from protocol.batch_columns import BatchRun, BatchWalk, FoundBatch, single_run
from protocol.checksum import crc32c
from protocol.record_batch import (
    BATCH_OVERHEAD,
    CURRENT_MAGIC,
    LOG_OVERHEAD,
    BatchHeader,
    read_header,
)

from .files import File
from .formats.index_entry import RELATIVE_OFFSET_MAX

_CHUNK_SIZE = 4 << 20
_FIRST_CHUNK_SIZE = 64 << 10
_CRC_START = 21
_MAGIC_POSITION = 16
_MAGIC = bytes([CURRENT_MAGIC])

_AHEAD_MIN = 256 << 10

OnRun: TypeAlias = Callable[[BatchRun], None]


class DamagedRange(NamedTuple):
    """Bytes of a file from ``start`` up to ``end`` that hold no valid batch.

    The offsets from ``base_offset`` up to ``next_offset`` may have been in it: those
    between the batches before and behind it. ``base_offset`` is that of the segment
    when the range begins where the scan began.
    """

    start: int
    end: int
    base_offset: int
    next_offset: int


class Recovery(NamedTuple):
    """What a scan found.

    ``valid_end`` is the position behind the last valid batch and ``next_offset`` the
    offset behind it. ``damaged`` are the ranges before it that hold no valid batch;
    what lies between it and ``size`` is a *torn tail*: nothing valid follows.
    """

    valid_end: int
    next_offset: int
    size: int
    damaged: tuple[DamagedRange, ...]

    @property
    def is_torn(self) -> bool:
        """Whether the file goes on behind its last valid batch."""
        return self.valid_end < self.size

    @property
    def is_clean(self) -> bool:
        """Whether every byte belongs to a valid batch."""
        return not self.is_torn and not self.damaged


class BatchScan:
    """The valid batches of a log file from ``start`` on, in order.

    Iterate for one after another, or over `runs` for many at a time: the same batches,
    but where they are small a hundred times faster.
    """

    def __init__(
        self,
        log: File,
        start: int,
        base_offset: int,
        checks_crc: bool = True,
        relative_offset_max: int = RELATIVE_OFFSET_MAX,
    ) -> None:
        self._log = log
        self._base_offset = base_offset
        self._checks_crc = checks_crc
        self._relative_offset_max = relative_offset_max
        self._start = self._valid_end = start
        self._next_offset = base_offset
        self._damaged: list[DamagedRange] = []
        self._chunk = memoryview(b"")
        self._chunk_size = _FIRST_CHUNK_SIZE  # doubled with every read
        self._chunk_start = start

    def recovery(self) -> Recovery:
        """What was found, once the scan has ended."""
        return Recovery(
            self._valid_end, self._next_offset, self._log.size, tuple(self._damaged)
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
        """The run that follows; None when it is not undamaged, or too short."""
        position, size = self._valid_end, self._log.size
        offset_max = self._base_offset + self._relative_offset_max
        run = walk.run(
            self._ahead(position),
            position,
            (self._next_offset, offset_max),
            self._checks_crc,
        )
        # The last is not certain before the next one confirms its offset.
        if run is None or run.end == size:
            return run
        return run.part(0, run.length - 1)

    def __iter__(self) -> Iterator[FoundBatch]:
        held: FoundBatch | None = None
        for found in self._whole_batches():
            base_offset = found[1].base_offset
            if held is None:
                if self._may_follow(found):
                    held = found
            elif base_offset >= held[1].next_offset:
                yield self._accepted(held)
                held = found
            elif self._may_follow(found) and not self._continues(held):
                held = found
        if held is not None:
            yield self._accepted(held)

    def _may_follow(self, found: FoundBatch) -> bool:
        """Whether its offset is behind all before it: damage has had one at least."""
        position, header, _ = found
        has_lost = position > self._valid_end
        return header.base_offset >= self._next_offset + has_lost

    def _continues(self, found: FoundBatch) -> bool:
        """Whether a batch follows what came before, so that its offset is right.

        An index entry leads to the batch at ``start``.
        """
        position, header, _ = found
        is_indexed = position == self._start > 0
        return is_indexed or header.base_offset == self._next_offset

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
        relative_offset = header.base_offset - self._base_offset
        return (
            header.magic == CURRENT_MAGIC
            and BATCH_OVERHEAD <= size <= self._log.size - position
            and 0 <= header.last_offset_delta <= RELATIVE_OFFSET_MAX
            and relative_offset >= 0
            and relative_offset + header.last_offset_delta <= self._relative_offset_max
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
        if damaged.batch_length <= 0 or not self._is_next(target):
            target = end
        for candidate in self._candidates(position, target):
            if self._is_next(candidate) and (
                target == end or self._leads_to(candidate, target)
            ):
                return candidate
        return target

    def _is_next(self, position: int) -> bool:
        if position + BATCH_OVERHEAD > self._log.size:
            return False
        header = read_header(self._bytes(position, BATCH_OVERHEAD))
        return header.base_offset >= self._next_offset and self._is_valid(
            position, header, True
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

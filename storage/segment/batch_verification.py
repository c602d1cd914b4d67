"""Which bytes of a segment were verified since it was opened.

A batch is verified when it matches its checksum and its offsets follow those before
it. The checksum does not cover the base offset: where a batch leaves a gap, as they
do after compaction, somebody is asked who looks at the batches behind it, too.

Invariants: the runs of verified batches lie apart, in the order of their bytes, and
each begins and ends where a batch does. From ``trusted_from`` on this process wrote
the bytes, or recovery read them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from operator import attrgetter

from odradek.protocol.batch_columns import COLUMN_COUNT, walk_batches
from odradek.protocol.errors import CorruptMessage
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    CURRENT_MAGIC,
    BatchHeader,
    check_crc,
    scan,
)
from odradek.storage.files.files import Buffer

# Whether the batch behind the run with this header is right to leave out offsets.
IsGap = Callable[[BatchHeader], bool]

# Data in which there may be many batches, how many are verified together, and what C
# writes down for each.
_MANY_SIZE = 4096
_MANY_MAX = 4096
_CELLS_SIZE = 8 * COLUMN_COUNT
_OFFSET_MAX = 2**63 - 2

_RUNS_MAX = 1000  # readers at more places verify some batches again

_start = attrgetter("start")


class DamagedBatch(CorruptMessage):
    """A batch of the log that is not as it was written.

    The damage begins at ``position`` of the segment's log file, or before it.
    """

    def __init__(self, segment_base: int, position: int, message: str) -> None:
        super().__init__(message)
        self.segment_base = segment_base
        self.position = position


class VerifiedRun:
    """Verified batches from ``start`` up to ``end``; behind is ``next_offset``."""

    __slots__ = ("end", "next_offset", "start")

    def __init__(self, start: int, end: int, next_offset: int) -> None:
        self.start, self.end, self.next_offset = start, end, next_offset


def _size(run: VerifiedRun) -> int:
    return run.end - run.start


class BatchVerification:
    """Verifies the batches of a file once, when they are first read."""

    def __init__(self, size: int, base_offset: int = 0) -> None:
        self.trusted_from = size
        self._runs = [VerifiedRun(0, 0, base_offset)]

    def trust(self, start: int) -> None:
        """Take everything from ``start`` on as verified: recovery has read it."""
        before = bisect_left(self._runs, start, key=_start) - 1
        if before >= 0 and self._runs[before].end >= start:
            start = self._runs[before].start
        self.trusted_from = min(self.trusted_from, start)
        self._runs = [run for run in self._runs if run.start < self.trusted_from]

    def run_at(self, position: int) -> VerifiedRun | None:
        """The verified batches that reach up to ``position``, or over it."""
        number = bisect_right(self._runs, position, key=_start) - 1
        if number < 0 or self._runs[number].end < position:
            return None
        return self._runs[number]

    def nearest_run(self, position: int) -> VerifiedRun | None:
        """The last run that starts at or before ``position``."""
        number = bisect_right(self._runs, position, key=_start) - 1
        return self._runs[number] if number >= 0 else None

    def begin(self, position: int, next_offset: int) -> VerifiedRun:
        """A run for batches from ``position`` on, none of which is verified yet."""
        run = self.run_at(position)
        if run is None:
            if len(self._runs) >= _RUNS_MAX:
                self._runs.remove(min(self._runs, key=_size))
            run = VerifiedRun(position, position, next_offset)
            self._runs.insert(bisect_right(self._runs, position, key=_start), run)
        return run

    def check(
        self,
        run: VerifiedRun,
        data: Buffer,
        position: int,
        limit: int,
        is_gap: IsGap,
    ) -> int:
        """Verify the whole batches in ``data``, read at ``position``; ``run`` grows.

        ``position`` is in the run or at its end. Returns how much of ``data`` may be
        handed out: all of it, or what lies before a damaged batch.
        """
        if position + len(data) <= run.end:
            return len(data)
        view = memoryview(data)[run.end - position :]
        view = view[self._grow_by_many(run, view, limit) :]
        try:
            for at, header in scan(view):
                batch = view[at : at + header.size]
                if run.end >= self.trusted_from:
                    break
                if not self._is_sound(run, batch, header, limit, is_gap):
                    return run.end - position
                run.end += header.size
                run.next_offset = header.next_offset
        except CorruptMessage:
            return run.end - position
        finally:
            self._join(run)
        return len(data)

    def _grow_by_many(self, run: VerifiedRun, view: memoryview, limit: int) -> int:
        """Verify what C can: sound batches with no gap before them. Returns their size.

        Of the one behind them it is not said what it is.
        """
        size = 0
        room = min(len(view), self.trusted_from - run.end)
        if room < _MANY_SIZE or limit < 1:
            return 0
        cells = bytearray(_CELLS_SIZE * min(room // BATCH_OVERHEAD, _MANY_MAX))
        columns = memoryview(cells).cast("q")
        capacity = len(columns) // COLUMN_COUNT
        last_offset_max = min(limit - 1, _OFFSET_MAX)
        while True:
            count, walked = walk_batches(
                view[size:room], cells, run.next_offset, last_offset_max, True
            )
            positions = columns[:count]
            bases = columns[capacity : capacity + count]
            nexts = columns[2 * capacity : 2 * capacity + count]
            if not count or bases[0] != run.next_offset:
                return size
            if bases[1:] != nexts[:-1]:
                gap = next(
                    place
                    for place in range(1, count)
                    if bases[place] != nexts[place - 1]
                )
                walked, nexts = positions[gap], nexts[:gap]
            size += walked
            run.end += walked
            run.next_offset = nexts[-1]
            if len(nexts) < capacity:
                return size

    def _is_sound(
        self,
        run: VerifiedRun,
        batch: memoryview,
        header: BatchHeader,
        limit: int,
        is_gap: IsGap,
    ) -> bool:
        base_offset, expected = header.base_offset, run.next_offset
        if (
            header.magic != CURRENT_MAGIC
            or base_offset < expected
            or header.last_offset_delta < 0
            or header.last_offset >= limit
            or not check_crc(batch, header)
        ):
            return False
        return base_offset == expected or is_gap(header)

    def _join(self, run: VerifiedRun) -> None:
        """Make one of this run and those that it has reached."""
        number = bisect_right(self._runs, run.start, key=_start)
        while number < len(self._runs) and self._runs[number].start <= run.end:
            reached = self._runs.pop(number)
            if reached.end > run.end:
                run.end, run.next_offset = reached.end, reached.next_offset
        if run.end >= self.trusted_from:
            self.trusted_from = min(self.trusted_from, run.start)

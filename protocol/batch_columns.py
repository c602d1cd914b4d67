"""Many batches at once: what their headers hold, column by column.

For work that would be dominated by making objects of each batch: a recovery reads
millions of small ones. The columns are filled by ``speedups.c``.
"""

from array import array
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from .record_batch import BATCH_OVERHEAD, BatchHeader, read_header

try:
    from .speedups import walk_batches
except ImportError:  # installed where there was no compiler
    from .plain.batch_columns import walk_batches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = [
    "COLUMN_COUNT",
    "BatchColumns",
    "BatchRun",
    "BatchWalk",
    "FoundBatch",
    "single_run",
    "walk_batches",
]

_CAPACITY_MAX = 1 << 14

# Position in the file, header, and all bytes of a batch.
FoundBatch: TypeAlias = tuple[int, BatchHeader, memoryview]


class BatchColumns(NamedTuple):
    """Entries of every batch; positions count from the start of the data walked over.

    ``max_timestamps`` are the largest up to each batch, ``places_of_max`` say which
    batch holds it.
    """

    positions: memoryview
    base_offsets: memoryview
    next_offsets: memoryview
    max_timestamps: memoryview
    places_of_max: memoryview
    leader_epochs: memoryview
    producer_ids: memoryview
    attributes: memoryview


COLUMN_COUNT = len(BatchColumns._fields)


class BatchRun(NamedTuple):
    """Valid batches, at least one, that lie one behind another in a file.

    ``data`` begins at ``position`` in the file; the first batch is at ``start``, and
    the last ends at ``end``.
    """

    position: int
    data: memoryview
    end: int
    columns: BatchColumns

    @property
    def length(self) -> int:
        """How many there are."""
        return len(self.columns.positions)

    @property
    def start(self) -> int:
        """Where the first begins."""
        return self.position + int(self.columns.positions[0])

    @property
    def next_offset(self) -> int:
        """The offset behind the last."""
        return int(self.columns.next_offsets[-1])

    def batches(self, places: "Iterable[int] | None" = None) -> "Iterator[FoundBatch]":
        """Position in the file, header and bytes of each, or of those at ``places``."""
        positions = self.columns.positions
        for place in range(self.length) if places is None else places:
            at = positions[place]
            header = read_header(self.data, at)
            yield self.position + at, header, self.data[at : at + header.size]

    def part(self, first: int, behind: int) -> "BatchRun | None":
        """The batches from place ``first`` up to ``behind``; None when there are none.

        Its ``max_timestamps`` are still those of the whole run.
        """
        if first >= behind:
            return None
        end = self.end
        if behind < self.length:
            end = self.position + self.columns.positions[behind]
        columns = BatchColumns._make(column[first:behind] for column in self.columns)
        return BatchRun(self.position, self.data, end, columns)

    def outside(self, ranges: "Sequence[tuple[int, int]]") -> "Iterator[BatchRun]":
        """Its batches that do not begin in one of these byte ranges of the file."""
        if not any(start < self.end and self.start < end for start, end in ranges):
            yield self
            return
        for position, header, batch in self.batches():
            if not any(start <= position < end for start, end in ranges):
                yield single_run(position, batch, header)


class BatchWalk:
    """Walks over pieces of a log; the columns of a run are valid until the next one."""

    def __init__(self, size_max: int) -> None:
        """For pieces of at most ``size_max`` bytes; larger ones are walked in part."""
        capacity = min(_CAPACITY_MAX, size_max // BATCH_OVERHEAD + 1)
        self._capacity = capacity
        self._cells = array("q", bytes(8 * COLUMN_COUNT * capacity))

    def run(
        self,
        data: memoryview,
        position: int,
        offsets: tuple[int, int],
        checks_crc: bool,
    ) -> BatchRun | None:
        """The batches at the start of ``data``, which is at ``position`` in its file.

        They have offsets from the first of ``offsets`` up to the second, included. None
        when there is no valid one.
        """
        cells = self._cells
        count, size = walk_batches(data, cells, *offsets, checks_crc)
        if not count:
            return None
        view = memoryview(cells)
        starts = range(0, len(cells), self._capacity)
        columns = BatchColumns._make(view[start : start + count] for start in starts)
        return BatchRun(position, data, position + size, columns)


def single_run(position: int, batch: memoryview, header: BatchHeader) -> BatchRun:
    """A run of one batch."""
    row = (
        0,
        header.base_offset,
        header.next_offset,
        header.max_timestamp,
        0,
        header.partition_leader_epoch,
        header.producer_id,
        header.attributes,
    )
    view = memoryview(array("q", row))
    columns = (view[at : at + 1] for at in range(len(row)))
    end = position + header.size
    return BatchRun(position, batch, end, BatchColumns._make(columns))

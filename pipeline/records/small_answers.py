"""Small answers of many partitions become rows together.

What is done once for each call costs more than a few records do, and a thousand
partitions that have one each are a thousand times that. Nothing is decided here that
needs more than a look at whole, sound batches: transactions, damage and what is cut are
for `RecordsToArrow`, which reads one partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from odradek.protocol.batch_columns import COLUMN_COUNT, BatchColumns, walk_batches
from odradek.protocol.errors import KafkaError
from odradek.protocol.record_batch import (
    COMPRESSION_MASK,
    CONTROL,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    read_header,
)
from odradek.protocol.record_columns import RECORD_COLUMNS, walk_records
from odradek.protocol.records import uncompressed

from .gathered import ROWS, SIZE
from .record_arrays import PlacesOfRows, RecordArrays, RecordRows
from .resync import OFFSET_MAX

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow

    from odradek.protocol.topic_partition import TopicPartition

    from .columns import RecordColumns

# What is larger is not a small answer.
SIZE_MAX = SIZE // 4
_BATCHES_MAX = 256
_FIELDS = {name: place for place, name in enumerate(BatchColumns._fields)}
_POSITION = _FIELDS["positions"]
_BASE_OFFSET, _NEXT_OFFSET = _FIELDS["base_offsets"], _FIELDS["next_offsets"]
_ATTRIBUTES = _FIELDS["attributes"]
# Of the columns of `protocol.record_columns` those that are positions.
_KEY_POSITION, _VALUE_POSITION = 2, 4


class SmallAnswers:
    """Takes answers, one after the other, and makes rows of what was taken."""

    def __init__(self, columns: RecordColumns) -> None:
        self._columns = columns
        self._batches = np.empty((COLUMN_COUNT, _BATCHES_MAX), np.int64)
        self._records = np.empty((RECORD_COLUMNS, ROWS // 4), np.int64)
        self._empty()

    def _empty(self) -> None:
        self._data = bytearray()
        self._cells: list[np.ndarray] = []
        self._places: list[TopicPartition] = []
        self._is_append_time: list[bool] = []
        self._count = 0

    @property
    def is_full(self) -> bool:
        """Whether it is time for `rows`."""
        return len(self._data) >= SIZE or self._count >= ROWS

    def take(
        self, place: TopicPartition, data: memoryview, start: int, end: int
    ) -> bool:
        """Keep the records in [start, end); False if it is not done so simply.

        Then nothing is kept of them.
        """
        if not 0 < len(data) <= SIZE_MAX:
            return False
        count, _ = walk_batches(data, self._batches.data, 0, OFFSET_MAX, True)
        batches = self._batches[:, :count]
        if not count or batches[_NEXT_OFFSET, -1] < end:
            return False
        attributes = batches[_ATTRIBUTES]
        flags = int(np.bitwise_or.reduce(attributes))
        is_append_time = bool(flags & LOG_APPEND_TIME)
        if flags & (CONTROL | TRANSACTIONAL):
            return False
        if is_append_time and not (attributes & LOG_APPEND_TIME).all():
            return False
        positions = batches[_POSITION]
        if flags & COMPRESSION_MASK:
            opened = _opened(data, positions)
            if opened is None:
                return False
            data, positions = opened
        done, record_count = walk_records(data, positions.data, self._records.data)
        if done < count:
            return False
        cells = self._records[:, :record_count]
        if batches[_BASE_OFFSET, 0] < start or batches[_NEXT_OFFSET, -1] > end:
            cells = cells[:, (cells[0] >= start) & (cells[0] < end)]
        if cells.size:
            self._keep(place, data, cells.copy(), is_append_time)
        return True

    def _keep(
        self,
        place: TopicPartition,
        data: memoryview,
        cells: np.ndarray,
        is_append_time: bool,
    ) -> None:
        cells[_KEY_POSITION] += len(self._data)
        cells[_VALUE_POSITION] += len(self._data)
        # Copied: an answer has more than this, and would be held with it.
        self._data += data
        self._cells.append(cells)
        self._places.append(place)
        self._is_append_time.append(is_append_time)
        self._count += cells.shape[1]

    def rows(self) -> Iterator[pyarrow.RecordBatch]:
        """The rows of all that was taken since, in that order; none of nothing."""
        if not self._cells:
            return
        counts = np.array([each.shape[1] for each in self._cells])
        times: np.ndarray | bool = self._is_append_time[0]
        if len(set(self._is_append_time)) > 1:
            times = np.repeat(np.array(self._is_append_time), counts)
        cells = np.concatenate(self._cells, axis=1)
        arrays = RecordArrays(PlacesOfRows(self._places, counts), self._columns)
        rows = RecordRows(memoryview(self._data), cells, times)
        self._empty()
        yield arrays.batch(rows)


def _opened(
    data: memoryview, positions: np.ndarray
) -> tuple[memoryview, np.ndarray] | None:
    """The batches uncompressed, and where each begins; None if that is not small."""
    opened, starts = bytearray(), []
    for position in positions.tolist():
        header = read_header(data, position)
        starts.append(len(opened))
        try:
            opened += uncompressed(data[position : position + header.size], header)
        except KafkaError:
            return None
        if len(opened) > SIZE:
            return None
    return memoryview(opened), np.array(starts, np.int64)

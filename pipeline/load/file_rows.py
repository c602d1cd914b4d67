"""Rows of Parquet files as records, straight from the files: nothing is shuffled.

One producer numbers the batches of a partition, so one task has to send all rows of it.
Each task reads all files, and of them only the columns that records are made of; it
sends the rows of its own partitions. To read a row costs far less than to hand it from
one task to another by way of Java; but all tasks do it, so there are few.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from odradek.pipeline.records.row_encoding import (
    HEADERS,
    KEY,
    PARTITION,
    TIME_MS,
    VALUE,
)
from odradek.pipeline.tables.files import TableSource
from odradek.pipeline.tables.partitions.partition_path import values_of
from odradek.pipeline.tables.places.large_rows import (
    BYTES_AT_ONCE,
    ROWS_MAX,
    rows_at_once,
    stored_row_size,
)
from odradek.pipeline.writing.row_placement import Turns

from .sent_counts import SparkFailure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow
    from pyarrow.parquet import ParquetFile
    from pyspark.sql import DataFrame, SparkSession

    from odradek.pipeline.tables.files import DataFile, RowSource

    from .record_rows import RecordColumns

TASKS_MAX = 8
_FILES_MAX = 500  # each task opens all of them
_SAMPLE_ROWS = 16
_READ_SIZE = 1 << 20
# What the values of a column are here, by what Spark calls them.
_BYTES = ("string", "binary")
_NUMBERS = ("tinyint", "smallint", "int", "bigint")


class FilesDiffer(SparkFailure):
    """Tasks have not read what the driver sees; the message says it."""


@dataclass(frozen=True)
class PlainFiles:
    """Files whose columns are the parts of records as they are."""

    paths: tuple[str, ...]
    columns: RecordColumns
    row_count: int
    now_ms: int = field(default_factory=lambda: int(time.time() * 1000))

    def divided(self, partition_count: int, core_count: int | None) -> FileRows:
        """As tasks read them; without a number there are cores for each task."""
        task_count = min(partition_count, core_count or TASKS_MAX, TASKS_MAX)
        return FileRows(self, partition_count, task_count)


@dataclass(frozen=True)
class FileRows:
    """What each of some tasks reads; it is pickled with the job."""

    files: PlainFiles
    partition_count: int
    task_count: int

    def tasks(self, spark: SparkSession) -> DataFrame:
        """A row for each task."""
        return spark.range(0, self.task_count, 1, self.task_count)

    def check(self, sent_count: int) -> None:
        """See that all tasks together have sent each row.

        Raises:
            FilesDiffer: some of them found other rows under the same names.
        """
        if sent_count != self.files.row_count:
            raise FilesDiffer(
                f"the files have {self.files.row_count} rows here, and tasks found"
                f" {sent_count} to send: do all machines see the same files, and does"
                " nobody write them anew?"
            )

    def batches(self, task: int) -> Iterator[pyarrow.RecordBatch]:
        """Those of one task, as `record_rows` has them."""
        turns = Turns()
        gathered: list[pyarrow.RecordBatch] = []
        for rows in self._rows():
            found = self._records(rows, turns, task)
            if gathered and not _fit_together([*gathered, found]):
                yield from _joined(gathered)
                gathered = []
            if found.num_rows:
                gathered.append(found)
        yield from _joined(gathered)

    def _rows(self) -> Iterator[pyarrow.RecordBatch]:
        """All of them, some at once; no more of a file is held."""
        import pyarrow.parquet as pq

        names = list({name: None for name in self.files.columns if name})
        for path in self.files.paths:
            with pq.ParquetFile(path, buffer_size=_READ_SIZE, pre_buffer=False) as file:
                if file.metadata.num_rows:
                    yield from file.iter_batches(
                        _rows_at_once(file, names), columns=names, use_threads=False
                    )

    def _records(
        self, rows: pyarrow.RecordBatch, turns: Turns, task: int
    ) -> pyarrow.RecordBatch:
        """Of these rows, those that the task sends."""
        import numpy as np
        import pyarrow as pa

        parts, count = self.files.columns, rows.num_rows
        keys, wanted = pa.nulls(count, pa.binary()), pa.nulls(count, pa.int32())
        if parts.key:
            keys = _bytes(rows.column(parts.key))
        if parts.partition:
            wanted = rows.column(parts.partition).cast(pa.int32())
        placed = turns.place(keys, wanted, self.partition_count)
        ours = np.flatnonzero(placed % self.task_count == task)
        if len(ours) < count:
            places = pa.array(ours)
            rows, keys, placed = rows.take(places), keys.take(places), placed[ours]
        return pa.record_batch(
            {
                KEY: keys,
                VALUE: _bytes(rows.column(parts.value)),
                HEADERS: pa.nulls(len(ours), pa.list_(pa.binary())),
                TIME_MS: self._times(rows),
                PARTITION: pa.array(placed, pa.int32()),
            }
        )

    def _times(self, rows: pyarrow.RecordBatch) -> pyarrow.Array:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        name, now_ms = self.files.columns.timestamp, self.files.now_ms
        if not name:
            return pa.repeat(pa.scalar(now_ms, pa.int64()), rows.num_rows)
        given = rows.column(name)
        numbers = given.cast(pa.int64()).fill_null(0).to_numpy()
        if pa.types.is_timestamp(given.type) and given.type.unit == "us":
            numbers = np.floor_divide(numbers, 1000)
        return pc.if_else(given.is_valid(), pa.array(numbers, pa.int64()), now_ms)


def plain_files(
    source: RowSource,
    files: Sequence[DataFile],
    rows: DataFrame,
    columns: RecordColumns,
) -> PlainFiles | None:
    """The files, where records can be made of them without Spark; None otherwise.

    ``rows`` are those of the files, as Spark reads them.
    """
    if not isinstance(source, TableSource) or len(files) > _FILES_MAX:
        return None
    if not source.is_plain():
        return None
    if not columns.value or columns.headers:
        return None
    if not all(_fits(rows, *part) for part in columns._asdict().items()):
        return None
    names = {name for name in columns if name}
    paths, row_count = tuple(file.path for file in files), 0
    for path in paths:
        found = _row_count(path, names, rows)
        if found is None:
            return None
        row_count += found
    return PlainFiles(paths, columns, row_count)


def _fits(rows: DataFrame, part: str, name: str) -> bool:
    """Whether a column has values of which this part of a record can be made here."""
    if not name:
        return True
    if name not in rows.columns or "." in name:
        return False
    kind = rows.schema[name].dataType.simpleString()
    if part == "value":
        return kind in _BYTES
    if part == "key":
        return kind in _BYTES + _NUMBERS
    if part == "timestamp":
        return kind in ("timestamp", "int", "bigint")
    return kind in _NUMBERS[:3]


def _row_count(path: str, names: set[str], rows: DataFrame) -> int | None:
    """Of a file on this machine that has the columns as Spark has them; else None."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.errors import PySparkTypeError
    from pyspark.sql.pandas.types import from_arrow_type

    if "://" in path or names & set(values_of(path)):
        return None
    try:
        metadata = pq.read_metadata(path)
        schema = metadata.schema.to_arrow_schema()
        for name in names:
            kind = schema.field(name).type
            if pa.types.is_timestamp(kind) and kind.unit not in ("us", "ms"):
                return None
            if from_arrow_type(kind) != rows.schema[name].dataType:
                return None
    except (OSError, KeyError, pa.ArrowInvalid, PySparkTypeError):
        return None
    count: int = metadata.num_rows
    return count


def _fit_together(rows: Sequence[pyarrow.RecordBatch]) -> bool:
    if rows[0].schema != rows[-1].schema:
        return False
    size = sum(each.nbytes for each in rows)
    return size <= BYTES_AT_ONCE and sum(map(len, rows)) <= ROWS_MAX


def _joined(gathered: list[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """As one, so that a batch of records is not as small as a small file."""
    import pyarrow as pa

    if len(gathered) > 1:
        gathered = pa.Table.from_batches(gathered).combine_chunks().to_batches()
    yield from gathered


def _bytes(column: pyarrow.Array) -> pyarrow.Array:
    """The bytes of texts, and the digits of numbers."""
    import pyarrow as pa

    if pa.types.is_integer(column.type):
        column = column.cast(pa.string())
    if pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type):
        return column.cast(pa.large_binary())
    return column.cast(pa.binary())


def _rows_at_once(file: ParquetFile, names: Sequence[str]) -> int:
    """How many rows are about as large as a task should hold."""
    sample: Any = next(file.iter_batches(_SAMPLE_ROWS, columns=list(names)))
    size = sample.nbytes / sample.num_rows
    return rows_at_once(max(stored_row_size(file, names), size))

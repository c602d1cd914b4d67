"""A table becomes records of a topic: file by file, each once, also those to come.

A batch is a group of files. How many files have been loaded, and a digest of them, is
the note of the batch, so it is committed with the records: a later run goes on behind
them, or stops when they are not the same any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .record_rows import usual_columns
from .table_files import Position, batches, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from .loader import Loader
    from .record_rows import RecordColumns
    from .table_files import TableSource

BATCH_SIZE = 256 << 20


class LoadedFiles(NamedTuple):
    """A batch in the topic; ``remaining_size`` is what is left to read, in bytes."""

    batch: int
    files_count: int
    records: int
    size: int
    remaining_size: int


def load_table(
    spark: SparkSession,
    loader: Loader,
    source: TableSource,
    columns: Callable[[list[str]], RecordColumns] = usual_columns,
    batch_size: int = BATCH_SIZE,
    change: Callable[[DataFrame], DataFrame] | None = None,
) -> Iterator[LoadedFiles]:
    """Load what is not loaded yet, and tell each batch.

    ``columns`` says which of the table's columns are which parts of a record.
    ``change`` may leave rows out or add columns.

    Raises:
        JobError: the table cannot be read, or its rows cannot be records.
        JobStopped: files that were loaded have changed, another run has the job, or a
            batch could not be written.
    """
    last = loader.last_batch()
    number, done = last.number, Position.parse(last.note).files_count
    files = source.files(spark)
    rest = Position.parse(last.note).rest(files)
    remaining = sum(file.size for file in rest)
    for group in batches(rest, batch_size):
        number, done = number + 1, done + len(group)
        rows = source.rows(spark, group)
        if change is not None:
            rows = change(rows)
        note = Position(done, digest(files[:done]))
        loaded = loader.load(rows, number, columns(rows.columns), str(note))
        size = sum(file.size for file in group)
        remaining -= size
        yield LoadedFiles(number, len(group), loaded.records or 0, size, remaining)

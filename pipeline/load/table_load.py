"""A table becomes records of a topic: file by file, each once, also those to come.

A batch is a group of files, whose names are noted with the records: a later run loads
the others, wherever in the table's order they have come in, or stops when some of those
that were loaded are not there any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.pipeline.job_errors import JobStopped
from odradek.pipeline.tables.files import (
    NAMED,
    Position,
    batches,
    check_present,
    in_order,
)

from .file_rows import plain_files
from .notes import NOTHING_LOADED
from .record_rows import usual_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from odradek.pipeline.tables.files import DataFile, RowSource

    from .loader import Loader
    from .record_rows import RecordColumns

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
    source: RowSource,
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
    number, files = loader.last_batch().number, source.files(spark)
    loaded_names = _loaded_names(loader, files)
    check_present(loaded_names, files)
    rest = [file for file in in_order(files) if file.name not in loaded_names]
    done, remaining = len(loaded_names), sum(file.size for file in rest)
    for group in batches(rest, batch_size):
        number, done = number + 1, done + len(group)
        rows = source.rows(spark, group)
        if change is not None:
            rows = change(rows)
        chosen = columns(rows.columns)
        plain = plain_files(source, group, rows, chosen) if change is None else None
        note, parts = str(Position(done, NAMED)), [file.name for file in group]
        loaded = loader.load(plain or rows, number, chosen, note, parts)
        size = sum(file.size for file in group)
        remaining -= size
        yield LoadedFiles(number, len(group), loaded.records or 0, size, remaining)


def _loaded_names(loader: Loader, files: Sequence[DataFile]) -> set[str]:
    """The files that the notes name; those of an earlier version's note are adopted."""
    last, names = loader.last_batch(), loader.parts()
    position = Position.parse(last.note)
    if last.number > NOTHING_LOADED and not position.files_count:
        raise JobStopped(
            f"batch {last.number} of this job is not one of a table's files: its note"
            f" is {last.note!r}. Which files were loaded cannot be told; if the offset"
            " of its group was set by hand, set it back; or load under another --job"
        )
    if len(names) == position.files_count:
        return names
    if position.digest == NAMED:
        raise JobStopped(
            f"{position.files_count} files were loaded, but the notes name only"
            f" {len(names)}: some of the notes are gone. Load into a new topic, under"
            " another --job"
        )
    names = {file.name for file in position.loaded(files)}
    loader.adopt(str(Position(len(names), NAMED)), sorted(names))
    return names

"""The files that a task makes of its rows: one, or one for each partition of the table.

A file has a temporary name until it is whole, and is synced by who wrote it. What is
open at one time is bounded, and so are the rows in memory.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from odradek.pipeline.job_errors import JobStopped
from odradek.pipeline.security.places import is_task
from odradek.pipeline.tables.evolution import aligned
from odradek.pipeline.tables.partitions.partitioning import WHOLE, Partitioning
from odradek.pipeline.tables.partitions.splitting import split
from odradek.pipeline.tables.places.large_rows import rows_of_page
from odradek.pipeline.tables.places.task_file import new_task_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow
    from pyarrow.parquet import ParquetWriter

    from odradek.pipeline.tables.places.task_file import Folder

_FILE_SIZE_MAX = 512 << 20
# Rows are gathered up to this many bytes, for the row groups of all partitions.
_ROW_GROUP_SIZE = 48 << 20
_OPEN_MAX = 64
# More than this of one task are a column that divides nothing, but tells rows apart.
_PARTITIONS_MAX = 2000


@dataclass(frozen=True)
class Shape:
    """How the files of a table are: their codec, their columns, and how it is divided.

    ``schema`` is there where the table has more columns than the rows.
    """

    compression: str = "zstd"
    schema: bytes = b""
    partitioning: Partitioning = WHOLE


PLAIN = Shape()


class RowFiles:
    """The files of one task, in a folder that no reader sees."""

    def __init__(self, folder: Folder | None, shape: Shape) -> None:
        """Without a folder there may be no rows."""
        self._folder = folder
        self._shape = shape
        self._pending: list[pyarrow.RecordBatch] = []
        self._pending_size = 0
        self._open: dict[str, _OpenFile] = {}  # the last used is the last
        self._partitions: set[str] = set()
        self._done: list[dict[str, Any]] = []

    def write(self, rows: pyarrow.RecordBatch) -> None:
        """Take some rows.

        Raises:
            JobStopped: they are of too many partitions, or the folder is not there.
        """
        if not rows.num_rows:
            return
        size = rows.nbytes
        if self._pending_size + size > _ROW_GROUP_SIZE:
            self._flush()  # held together they were too much
        self._pending.append(rows)
        self._pending_size += size
        if self._pending_size >= _ROW_GROUP_SIZE:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        if not self._pending:
            return
        table = pa.Table.from_batches(self._pending)
        if self._shape.schema:
            buffer = pa.py_buffer(self._shape.schema)
            table = aligned(table, pa.ipc.read_schema(buffer))
        self._pending, self._pending_size = [], 0
        for partition, rows in self._split(table):
            file = self._file(partition, rows)
            file.write(rows)
            if file.size >= _FILE_SIZE_MAX:
                self._close(partition)

    def _split(self, rows: pyarrow.Table) -> Iterator[tuple[str, pyarrow.Table]]:
        partitioning = self._shape.partitioning
        if not partitioning:
            yield "", rows
            return
        for partition, part in split(partitioning, rows):
            self._partitions.add(partition)
            if len(self._partitions) > _PARTITIONS_MAX:
                raise JobStopped(
                    f"one task has rows of more than {_PARTITIONS_MAX} partitions, by"
                    f" {partitioning}: that many files are no help to readers; divide"
                    " the table by columns with fewer values, or give it a smaller"
                    " max_offsets_per_trigger"
                )
            yield partition, part

    def _file(self, partition: str, rows: pyarrow.Table) -> _OpenFile:
        file = self._open.pop(partition, None)
        if file is None:
            if len(self._open) >= _OPEN_MAX:
                self._close(next(iter(self._open)))
            assert self._folder is not None
            file = _OpenFile(self._folder, partition, rows, self._shape.compression)
        self._open[partition] = file
        return file

    def _close(self, partition: str) -> None:
        self._done.append(self._open.pop(partition).finish())

    def finish(self) -> list[dict[str, Any]]:
        """Make all files whole; returns what is to be reported of them."""
        self._flush()
        for partition in list(self._open):
            self._close(partition)
        return self._done

    def abandon(self) -> None:
        """Write nothing more; what is there keeps its temporary name."""
        for file in self._open.values():
            file.abandon()


class _OpenFile:
    """A file that is being written."""

    def __init__(
        self,
        folder: Folder,
        partition_path: str,
        rows: pyarrow.Table,
        compression: str,
    ) -> None:
        """Begin a file for rows like these."""
        import pyarrow.parquet as pq

        self._partition_path = partition_path
        self._row_count = 0
        try:
            self._file = new_task_file(folder)
            self._writer: ParquetWriter = pq.ParquetWriter(
                self._file.sink,
                rows.schema,
                compression=compression,
                write_batch_size=rows_of_page(rows),
            )
        except (FileNotFoundError, PermissionError) as error:
            if not is_task():
                raise
            raise JobStopped(not_shared(str(folder), error)) from None

    @property
    def size(self) -> int:
        """The bytes that are in the file by now."""
        return self._file.size

    def write(self, rows: pyarrow.Table) -> None:
        with self._file.telling():
            self._writer.write_table(rows)
        self._row_count += rows.num_rows

    def finish(self) -> dict[str, Any]:
        with self._file.telling():
            self._writer.close()
        path, size = self._file.finish()
        return {
            "path": path,
            "rows": self._row_count,
            "size": size,
            "partition_path": self._partition_path,
        }

    def abandon(self) -> None:
        self._writer.close()
        self._file.abandon()


def not_shared(folder: str, error: OSError) -> str:
    """What to say where a task cannot write into a folder that the driver has made."""
    host = socket.gethostname()
    if isinstance(error, PermissionError):
        return (
            f"{host} may not write to {folder} (as user {os.getuid()}), which the"
            " driver has made: run the executors as the driver's user, or give the"
            " table's folder to a group that both are in"
        )
    return (
        f"{host} does not see {folder}, which the driver has made: every machine of"
        " Spark must have the table's folder under the same path, as one shared file"
        " system; `odradek pipeline doctor --path FOLDER` asks every executor"
    )

"""Small files of a table become large ones, while the rows stay as they are.

A sink writes some files for each micro-batch; readers like them large. What is said
here is which files are taken together and how they are rewritten; how the new ones
take the place of the old is a matter of the table's format.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.tables.column_names import with_new_names
from odradek.pipeline.tables.evolution import aligned, unified
from odradek.pipeline.tables.places.large_rows import (
    rows_at_once,
    rows_of_page,
    stored_row_size,
)
from odradek.pipeline.tables.places.place import local_folder, open_place
from odradek.pipeline.tables.places.task_file import Folder, new_task_file, opened
from odradek.pipeline.tables.table import DataFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow

    from odradek.pipeline.tables.places.place import TablePlace

    Rewrite = Callable[[Sequence["Group"], Folder], list["Rewritten"]]

FILE_SIZE = 128 << 20
# Smaller row groups of several files are gathered to this many rows, or bytes.
_ROW_GROUP_COUNT = 1 << 17
_ROW_GROUP_SIZE = 64 << 20
# A file that is nearly as large as wanted is left alone.
_LARGE_ENOUGH = 0.75


class Group(NamedTuple):
    """Files that become one, in this order.

    ``names`` are columns that they call otherwise, and what these are called now.
    """

    files: tuple[DataFile, ...]
    names: tuple[tuple[str, str], ...] = ()

    def renamed(self, schema: pyarrow.Schema) -> pyarrow.Schema:
        """The columns of one of the files, under the names of now."""
        return with_new_names(schema, dict(self.names))

    @property
    def row_count(self) -> int:
        """The rows of all."""
        return sum(file.row_count for file in self.files)

    @property
    def size(self) -> int:
        """The bytes of all."""
        return sum(file.size for file in self.files)


class Rewritten(NamedTuple):
    """A group, and the file that has its rows now."""

    group: Group
    file: DataFile


class Compaction(NamedTuple):
    """What was done: numbers of files, rows and bytes."""

    files_before: int
    files_after: int
    row_count: int
    size_before: int
    size_after: int


# What each format has in its folder.
_SIGNS = {
    "_log": "parquet",
    "_delta_log": "delta",
    "metadata": "iceberg",
    "catalog.db": "iceberg",
}
NOTHING = Compaction(0, 0, 0, 0, 0)


def format_of(place: TablePlace) -> str:
    """The format of the table at a place.

    Raises:
        JobError: there is none.
    """
    names = place.folders_in("")
    for sign, kind in _SIGNS.items():
        if sign in names:
            return kind
    raise JobError(f"{place.location} is not a table of odradek, Delta or Iceberg")


def compact(
    location: str,
    file_size: int = FILE_SIZE,
    *,
    catalog: dict[str, str] | None = None,
    store: Mapping[str, str] | None = None,
    rewrite: Rewrite | None = None,
    is_ours: bool = False,
) -> Compaction:
    """Make files of about ``file_size`` bytes of smaller ones.

    A Parquet table must not be written to, but by who compacts it (``is_ours``).

    Raises:
        JobError: there is no table, or somebody writes to it.
    """
    place = open_place(location, store)
    kind = format_of(place)
    rewrite = rewrite or rewrite_here
    if kind == "parquet":
        from .parquet import compact_parquet

        path = local_folder(place, _NO_EXCHANGE)
        return compact_parquet(path, file_size, rewrite, is_ours=is_ours)
    if kind == "delta":
        from .lake import compact_delta

        return compact_delta(place, file_size)
    from .lake import compact_iceberg

    return compact_iceberg(place, file_size, catalog or {}, rewrite)


_NO_EXCHANGE = (
    "a Parquet table in a store cannot be compacted, because no store exchanges two"
    " folders in one step, and without that readers would see rows twice; Delta and"
    " Iceberg tables can"
)


def keep_snapshots(
    location: str,
    count: int,
    catalog: dict[str, str],
    store: Mapping[str, str] | None = None,
) -> int:
    """Let an Iceberg table keep so many snapshots; how many were expired.

    Raises:
        JobError: it is none, or somebody commits all the time.
    """
    place = open_place(location, store)
    if (kind := format_of(place)) != "iceberg":
        raise JobError(
            f"{location} is a {kind.capitalize()} table; snapshots are of Iceberg. "
            "A Parquet table's log is bounded, and Delta has "
            "delta.logRetentionDuration"
        )
    from .lake import keep_iceberg_snapshots

    return keep_iceberg_snapshots(place, catalog, count)


def groups_of(files: Iterable[DataFile], file_size: int) -> list[Group]:
    """Neighbours whose sizes together are about ``file_size``; two at least."""
    groups: list[Group] = []
    together: list[DataFile] = []
    size = 0
    for file in files:
        if file.size >= file_size * _LARGE_ENOUGH:
            continue
        if together and size + file.size > file_size:
            groups.append(Group(tuple(together)))
            together, size = [], 0
        together.append(file)
        size += file.size
    groups.append(Group(tuple(together)))
    return [group for group in groups if len(group.files) > 1]


def groups_of_partitions(files: Iterable[DataFile], file_size: int) -> list[Group]:
    """The same, of files of the same partition only."""
    partitions: dict[str, list[DataFile]] = {}
    for file in files:
        partitions.setdefault(file.partition_path, []).append(file)
    return [g for each in partitions.values() for g in groups_of(each, file_size)]


def rewrite_here(groups: Sequence[Group], folder: Folder) -> list[Rewritten]:
    """Rewrite the groups in this process, a few at a time.

    The memory that this took is given back: Arrow would keep some 300 MB of it, and the
    process of a sink goes on for months.
    """
    import pyarrow as pa

    try:
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            return list(threads.map(lambda group: rewrite_group(group, folder), groups))
    finally:
        pa.default_memory_pool().release_unused()


def rewrite_group(group: Group, folder: Folder) -> Rewritten:
    """Write the rows of a group to one file in a folder, and make it durable.

    Here, because the driver may be another machine.

    Raises:
        JobError: a file cannot be read, or the new one has not all rows.
    """
    import pyarrow.parquet as pq

    files = [opened(file.path, folder) for file in group.files]
    first = open_file(files[0])
    schemas = [group.renamed(open_file(file).schema_arrow) for file in files]
    schema, compression = unified(folder, schemas), _compression(first)
    made = new_task_file(folder)
    groups = _row_groups(group, files, schema)
    first_rows = next(groups, schema.empty_table())
    page = rows_of_page(first_rows)
    with pq.ParquetWriter(
        made.sink, schema, compression=compression, write_batch_size=page
    ) as writer:
        for rows in chain([first_rows], groups):
            writer.write_table(rows)
    path, size = made.finish()
    row_count = pq.read_metadata(opened(path, folder)).num_rows
    if row_count != group.row_count:
        raise JobError(
            f"{len(group.files)} files have {group.row_count} rows, what was written "
            f"of them has {row_count}; the table is as it was"
        )
    return Rewritten(group, DataFile(path, row_count, size))


def open_file(path: Any) -> Any:
    """A Parquet file of the table, by its path or as it is open.

    Raises:
        JobError: it is none.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path, pre_buffer=False)  # or it would hold all of it
    except (pa.ArrowInvalid, OSError) as error:
        raise JobError(
            f"{path} cannot be read: {error} The table is as it was; files that no "
            "job has written belong elsewhere"
        ) from None


def _row_groups(
    group: Group, files: Sequence[Any], schema: pyarrow.Schema
) -> Iterator[pyarrow.Table]:
    """The rows of the files, as they will be together in the new one."""
    import pyarrow as pa

    pending: list[pa.Table] = []
    count = size = 0
    for file in files:
        source = open_file(file)
        for batch in source.iter_batches(rows_at_once(stored_row_size(source))):
            rows = pa.Table.from_batches([batch])
            rows = rows.rename_columns(group.renamed(rows.schema).names)
            pending.append(aligned(rows, schema))
            count += batch.num_rows
            size += batch.nbytes
            if count >= _ROW_GROUP_COUNT or size >= _ROW_GROUP_SIZE:
                yield pa.concat_tables(pending).combine_chunks()
                pending, count, size = [], 0, 0
    if pending:
        yield pa.concat_tables(pending).combine_chunks()


def _compression(file: object) -> str:
    """The codec of a file's first column."""
    import pyarrow.parquet as pq

    assert isinstance(file, pq.ParquetFile)
    metadata = file.metadata
    if not metadata.num_row_groups or not metadata.num_columns:
        return "zstd"
    name = str(metadata.row_group(0).column(0).compression).lower()
    return "none" if name == "uncompressed" else name

"""How many rows of a Parquet file are taken at once, as some of them may be large."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    import pyarrow
    from pyarrow.parquet import ParquetFile

ROWS_MAX = 65_536
BYTES_AT_ONCE = 8 << 20
_PAGE_SIZE = 1 << 20
_PAGE_ROWS_MAX = 1024


def rows_at_once(row_size: float) -> int:
    """How many rows are about as large as a task should hold of a file."""
    return max(1, min(ROWS_MAX, int(BYTES_AT_ONCE / max(row_size, 1))))


def stored_row_size(file: ParquetFile, names: Collection[str] | None = None) -> float:
    """The bytes of a row of these columns, or of all, by what the file says.

    Where few values are repeated it is less than the rows will be.
    """
    found = file.metadata
    size: float = 0
    for group in map(found.row_group, range(found.num_row_groups)):
        for number in range(found.num_columns):
            column = group.column(number)
            if names is None or column.path_in_schema in names:
                size += column.total_uncompressed_size
    return size / max(int(found.num_rows), 1)


def rows_of_page(rows: pyarrow.Table) -> int:
    """After how many rows like these a page of a file may end: ``write_batch_size``.

    Whether it is full is looked at only then. By the default, 1,024 rows, a page of
    records of 100 KB is a whole row group: who writes or reads it holds all of it.
    """
    row_size = rows.nbytes / max(rows.num_rows, 1)
    return max(1, min(_PAGE_ROWS_MAX, int(_PAGE_SIZE / max(row_size, 1))))

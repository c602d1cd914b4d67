"""The last row of each key, out of the files that the tasks of a batch have written.

The records of a key lie in one partition, in the order of their offsets. Where a key
has moved, because the topic was given more partitions, the later time counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow

# In the files of tasks: that the key has no value any more. No column of the table.
DELETED = "__deleted"
_ORDER = "__order"


class KeyColumns(NamedTuple):
    """The columns of a table that say which row is the last of a key."""

    key: str
    partition: str
    offset: str
    timestamp: str

    @classmethod
    def of(cls, prefix: str) -> KeyColumns:
        """Those of records, as a table has them."""
        return cls(*(f"{prefix}{name}" for name in cls._fields))


def with_deleted(schema: pyarrow.Schema) -> pyarrow.Schema:
    """What the files of tasks are like, for a table of this schema."""
    import pyarrow as pa

    return schema.append(pa.field(DELETED, pa.bool_()))


def read_rows(files: Sequence[Any]) -> pyarrow.Table | None:
    """The rows in files of tasks, as a table's place opens them; None for no files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = [pq.read_table(path, partitioning=None) for path in files]
    return pa.concat_tables(tables) if tables else None


def last_rows(rows: pyarrow.Table, columns: KeyColumns) -> pyarrow.Table:
    """The last row of each key, deleted ones too."""
    order = [(columns.partition, "ascending"), (columns.offset, "ascending")]
    of_partition = _last(rows.sort_by(order), [columns.key, columns.partition])
    times = [(columns.timestamp, "ascending"), *order]
    return _last(of_partition.sort_by(times), [columns.key])


def _last(rows: pyarrow.Table, names: list[str]) -> pyarrow.Table:
    """Of rows that agree in some columns, the one behind the others."""
    import pyarrow as pa

    numbers = pa.array(range(len(rows)), pa.int64())
    told = rows.select(names).append_column(_ORDER, numbers)
    found = told.group_by(names).aggregate([(_ORDER, "max")])
    return rows.take(found.column(f"{_ORDER}_max"))

"""The rows of any table as records: key, value, headers, time, and their partition.

Rows whose partition is not said go where Java's client would write their key; without
a key they are spread evenly.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.records.columns import without_nulls
from odradek.pipeline.records.row_encoding import (
    HEADERS,
    KEY,
    PARTITION,
    TIME_MS,
    VALUE,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_HEADERS_TYPE = "array<struct<key: string, value: binary>>"
_BYTES = ("string", "binary")


class RecordColumns(NamedTuple):
    """Which column of a table is which part of a record; empty for none.

    Without ``value`` it is a JSON object of all columns that are no other part.
    """

    key: str = ""
    value: str = ""
    headers: str = ""
    timestamp: str = ""
    partition: str = ""


def usual_columns(names: list[str]) -> RecordColumns:
    """The parts that a table has under the names of the sources' columns."""
    return RecordColumns(*(name if name in names else "" for name in _USUAL))


_USUAL = ("key", "value", "headers", "timestamp", "partition")


def record_rows(
    rows: DataFrame, columns: RecordColumns, partition_count: int, task_count: int
) -> DataFrame:
    """The rows as `BatchSender` takes them, a topic partition in one task each.

    Raises:
        JobError: a column is not there, or cannot be that part of a record.
    """
    _check(rows, columns)
    parts = [
        _bytes(rows, columns.key).alias(KEY),
        _value(rows, columns).alias(VALUE),
        _headers(columns).alias(HEADERS),
        _time_ms(rows, columns).alias(TIME_MS),
        _partition(columns).alias(PARTITION),
    ]
    from pyspark.sql import functions as f
    from pyspark.sql.pandas.functions import arrow_udf

    from odradek.pipeline.writing.row_placement import placing

    # Of a row only what says its partition goes to Python and back.
    made = cast("Any", arrow_udf)(placing(partition_count), "int")  # by its hints
    spread = made.asNondeterministic()
    place = spread(f.col(KEY), f.col(PARTITION))
    placed = rows.select(*parts).withColumn(PARTITION, place)
    return placed.repartitionById(task_count, f.col(PARTITION) % task_count)


def _check(rows: DataFrame, columns: RecordColumns) -> None:
    for part, name in columns._asdict().items():
        if name and name not in rows.columns:
            raise JobError(
                f"the table has no column {name} for the {part}; it has"
                f" {', '.join(rows.columns)}"
            )


def _bytes(rows: DataFrame, name: str) -> Column:
    from pyspark.sql import functions as f

    if not name:
        return f.lit(None).cast("binary")
    column = f.col(_quoted(name))
    if rows.schema[name].dataType.simpleString() in _BYTES:
        return column.cast("binary")
    if rows.schema[name].dataType.simpleString().startswith(("struct", "array", "map")):
        return f.to_json(column).cast("binary")
    return column.cast("string").cast("binary")


def _value(rows: DataFrame, columns: RecordColumns) -> Column:
    from pyspark.sql import functions as f

    if columns.value:
        return _bytes(rows, columns.value)
    taken = {columns.headers, columns.partition}
    names = [_quoted(name) for name in rows.columns if name not in taken]
    return f.to_json(f.struct(*names), {"ignoreNullFields": "false"}).cast("binary")


def _headers(columns: RecordColumns) -> Column:
    from pyspark.sql import functions as f

    if not columns.headers:
        return f.array().cast(_HEADERS_TYPE)
    return without_nulls(f.col(_quoted(columns.headers)), _HEADERS_TYPE)


def _time_ms(rows: DataFrame, columns: RecordColumns) -> Column:
    from pyspark.sql import functions as f

    now = f.lit(int(time.time() * 1000))
    name = columns.timestamp
    if not name:
        return now
    column = f.col(_quoted(name))
    kind = rows.schema[name].dataType.simpleString()
    if kind in ("timestamp", "timestamp_ntz", "date"):
        return f.coalesce(f.unix_millis(column.cast("timestamp")), now)
    if kind in ("bigint", "int"):
        return f.coalesce(column.cast("long"), now)
    raise JobError(f"column {name} is {kind}: no time, and no number of ms since 1970")


def _partition(columns: RecordColumns) -> Column:
    from pyspark.sql import functions as f

    if not columns.partition:
        return f.lit(None).cast("int")
    return f.col(_quoted(columns.partition)).cast("int")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"

"""Rows as Spark hands them over, as records: which columns they need, of which types.

They are those of Spark's Kafka connector: ``value``, and, where they are there,
``key``, ``topic``, ``partition`` and ``headers``. Other columns are passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.pipeline.errors import SourceError
from odradek.pipeline.records.row_encoding import (
    HEADERS,
    KEY,
    PARTITION,
    TIME_MS,
    VALUE,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow
    from pyspark.sql.types import StructType

TOPIC = "topic"
_HEADERS_TYPE = "array<struct<key:string,value:binary>>"
_TYPES = {
    TOPIC: ("string",),
    KEY: ("binary", "string"),
    VALUE: ("binary", "string"),
    PARTITION: ("int",),
    HEADERS: (_HEADERS_TYPE,),
}


def check_schema(schema: StructType, topic: str) -> None:
    """Whether rows of a schema can be records.

    Raises:
        SourceError: a column is missing, or of another type.
    """
    names = schema.fieldNames()
    if VALUE not in names:
        raise SourceError(
            f"Rows need a column value, and have {', '.join(names) or 'none'}; make one"
            " of them by to_json(struct(*)) AS value, for example."
        )
    if TOPIC not in names and not topic:
        raise SourceError(
            "Where do the rows go? Give the option topic, or a column topic."
        )
    for name, kinds in _TYPES.items():
        if name not in names:
            continue
        found = schema[name].dataType.simpleString()
        if found not in kinds:
            raise SourceError(
                f"The column {name} is {found}; it is {' or '.join(kinds)}. Cast it in"
                " a select."
            )


def by_topic(
    rows: pyarrow.RecordBatch, topic: str, time_ms: int
) -> Iterator[tuple[str, pyarrow.RecordBatch]]:
    """Topics, and the rows that go there: columns as `encoded` takes them.

    Raises:
        SourceError: a row says no topic.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    names = rows.schema.names
    parts = {
        KEY: _binary(rows, KEY),
        VALUE: _binary(rows, VALUE),
        HEADERS: rows.column(HEADERS) if HEADERS in names else _no_headers(len(rows)),
        TIME_MS: pa.repeat(pa.scalar(time_ms, pa.int64()), len(rows)),
        PARTITION: rows.column(PARTITION)
        if PARTITION in names
        else pa.nulls(len(rows), pa.int32()),
    }
    made = pa.RecordBatch.from_pydict(parts)
    if topic:
        yield topic, made
        return
    said = rows.column(TOPIC)
    if said.null_count:
        raise SourceError(
            f"{said.null_count} rows have no topic; the option topic says one for all."
        )
    for name in pc.unique(said).to_pylist():
        yield name, made.filter(pc.equal(said, name))


def _binary(rows: pyarrow.RecordBatch, name: str) -> pyarrow.Array:
    import pyarrow as pa

    if name not in rows.schema.names:
        return pa.nulls(len(rows), pa.binary())
    column = rows.column(name)
    is_large = pa.types.is_large_string(column.type)
    if pa.types.is_string(column.type) or is_large:
        return column.cast(pa.large_binary() if is_large else pa.binary())
    return column


def _no_headers(count: int) -> pyarrow.Array:
    import pyarrow as pa

    pair = pa.struct([("key", pa.string()), ("value", pa.binary())])
    return pa.nulls(count, pa.list_(pair))

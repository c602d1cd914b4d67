"""The columns of a record, as Spark's Kafka connector names and types them.

``headers`` is null for a record that has none. Arrow's types are those that Spark
itself derives from its own; a batch that differs in any of them is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from odradek.pipeline.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow
    from pyspark.sql import Column
    from pyspark.sql.types import DataType, StructType

# In this order; the types as Spark's DDL writes them.
TYPES = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
    "headers": "array<struct<key:string,value:binary>>",
}
HEADERS = "headers"


@dataclass(frozen=True)
class RecordColumns:
    """Which columns of records are wanted, in order."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, *, include_headers: bool) -> RecordColumns:
        """All columns; the headers only where they are asked for."""
        return cls(tuple(n for n in TYPES if include_headers or n != HEADERS))

    @classmethod
    def of_schema(cls, schema: StructType) -> RecordColumns:
        """The columns of a schema that the user gave, or of our own.

        Raises:
            SourceError: it has a column that records do not have, or of another type.
        """
        check_types(schema, TYPES)
        return cls(tuple(schema.fieldNames()))

    @property
    def ddl(self) -> str:
        """The schema as Spark's DDL: ``key binary, value binary, ...``."""
        return ", ".join(f"{name} {TYPES[name]}" for name in self.names)

    def arrow_schema(self) -> pyarrow.Schema:
        """The schema that every Arrow batch handed to Spark must equal."""
        import pyarrow as pa

        header = pa.struct([("key", pa.string()), ("value", pa.binary())])
        types = {
            "key": pa.binary(),
            "value": pa.binary(),
            "topic": pa.string(),
            "partition": pa.int32(),
            "offset": pa.int64(),
            "timestamp": pa.timestamp("us", tz="UTC"),
            "timestampType": pa.int32(),
            HEADERS: pa.list_(pa.field("element", header)),
        }
        return pa.schema([(name, types[name]) for name in self.names])

    def __contains__(self, name: str) -> bool:
        return name in self.names


def check_types(schema: StructType, types: Mapping[str, str]) -> None:
    """Return if every column of the schema is one of these, and of its type.

    Raises:
        SourceError: which one is not.
    """
    for field in schema.fields:
        expected = types.get(field.name)
        if expected is None:
            raise SourceError(
                f"The schema asks for a column {field.name!r}; there are "
                f"{', '.join(types)}."
            )
        found = field.dataType.simpleString()
        if found != expected:
            raise SourceError(
                f"The schema says {field.name} {found}; it is {expected}. Cast it in "
                "a select."
            )


def without_nulls(lists: Column, kind: DataType | str) -> Column:
    """A column of lists of that type on its way into tasks: null is an empty list.

    After nulls in such a column Spark's writer of Arrow goes over all rows of a batch,
    for each row, to learn its size: twenty to thirty times the whole of the rest.
    """
    from pyspark.sql import functions as f

    return f.coalesce(lists.cast(kind), f.array().cast(kind))

"""Tables are read with the types of their columns, where Spark would guess others.

Where values stand in the names of folders, Spark guesses types: a text like "007" would
be a number. And a Delta table may have both, files of ours, which have all columns, and
files whose partition stands in their path. Files of an Iceberg table that has followed
its job may have narrower types, and former names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from odradek.pipeline.tables.column_names import former_names
from odradek.pipeline.tables.parquet_note import noted_partitioning, noted_schema

from .partition_path import values_of
from .partitioning import read_partitioning

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow
    from pyiceberg.table.metadata import TableMetadata
    from pyspark.sql.types import StructType


class Part(NamedTuple):
    """Paths that are read alike; with a schema where Spark would guess."""

    paths: list[str]
    schema: StructType | None = None


def parts_of(
    kind: str,
    location: str,
    paths: Sequence[str],
    metadata: TableMetadata | None = None,
) -> list[Part]:
    """How the files of a table, or its whole folder, are read.

    ``metadata`` are those of an Iceberg table.
    """
    plain = [Part(list(paths))]
    if urlsplit(location).scheme:
        return plain
    if kind == "parquet":
        schema = _of_parquet(location)
        return plain if schema is None else [Part(list(paths), _spark(schema))]
    if kind == "delta":
        return _of_delta(location, paths) or plain
    if metadata is not None and len(metadata.schemas) > 1:
        return [Part(list(paths), _of_iceberg(location, metadata))]
    return plain


def _of_iceberg(location: str, metadata: TableMetadata) -> StructType | None:
    """The columns of a table that has had others: also those of their former names.

    None where Spark has no such types.
    """
    import pyarrow as pa
    from pyiceberg.io.pyarrow import schema_to_pyarrow
    from pyspark.errors import PySparkTypeError

    schema = schema_to_pyarrow(metadata.schema(), include_field_ids=False)
    former = former_names(location, metadata)
    older = [schema.field(new).with_name(old) for old, new in former.items()]
    try:
        return _spark(pa.schema([*schema, *older]))
    except PySparkTypeError:
        return None


def _of_parquet(location: str) -> pyarrow.Schema | None:
    """The columns of a table of ours that has partitions; None of any other."""
    noted = Path(location) / "_log" / "table.json"
    if not noted.exists():
        return None
    note = json.loads(noted.read_text())
    fields = noted_partitioning(note)
    schema = noted_schema(note, ()) if fields else None
    if schema is None:
        return None
    return read_partitioning(str(noted), fields, "parquet").with_made(schema)


def _of_delta(location: str, paths: Sequence[str]) -> list[Part]:
    import pyarrow as pa
    from deltalake import DeltaTable

    table = DeltaTable(location)
    names = set(table.metadata().partition_columns)
    if not names:
        return []
    divided = [path for path in paths if names <= set(values_of(path))]
    whole = [path for path in paths if path not in set(divided)]
    parts = [Part(whole)] if whole else []
    if divided:
        parts.append(Part(divided, _spark(pa.schema(table.schema()))))
    return parts


def _spark(schema: pyarrow.Schema) -> StructType:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)

"""Partitioned tables are read with the types of their columns.

Where values stand in the names of folders, Spark guesses types: a text like "007" would
be a number. And a Delta table may have both, files of ours, which have all columns, and
files whose partition stands in their path.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from odradek.pipeline.tables.parquet_note import noted_partitioning, noted_schema

from .partitioning import read_partitioning
from .places import values_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow
    from pyspark.sql.types import StructType


class Part(NamedTuple):
    """Paths that are read alike; with a schema where Spark would guess."""

    paths: list[str]
    schema: StructType | None = None


def parts_of(kind: str, location: str, paths: Sequence[str]) -> list[Part]:
    """How the files of a table, or its whole folder, are read."""
    plain = [Part(list(paths))]
    if urlsplit(location).scheme:
        return plain
    if kind == "parquet":
        schema = _of_parquet(location)
        return plain if schema is None else [Part(list(paths), _spark(schema))]
    if kind == "delta":
        return _of_delta(location, paths) or plain
    return plain


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

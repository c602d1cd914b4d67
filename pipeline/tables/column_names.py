"""Columns that had another name: what may be renamed, and what older files call them.

An Iceberg table knows its columns by ids. Files that jobs add have names only, and the
table's name mapping says which names a column has had. So a name is never given to
another column: rows that are there would become rows of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.pipeline.job_errors import JobError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow
    from pyiceberg.table.metadata import TableMetadata
    from pyspark.sql import DataFrame


def to_rename(
    location: object,
    there: Sequence[str],
    wanted: Sequence[str],
    renamed: Mapping[str, str],
) -> dict[str, str]:
    """The columns of a table, by their names, that do not have their new ones yet.

    Raises:
        JobError: one cannot be renamed; says why.
    """
    found = {}
    for old, new in renamed.items():
        if problem := _problem(old, new, there, wanted):
            raise JobError(
                f'[table] renamed: {old} = "{new}" cannot be done in the table'
                f" {location}: {problem}"
            )
        if old in there:
            found[old] = new
    return found


def _problem(old: str, new: str, there: Sequence[str], wanted: Sequence[str]) -> str:
    if new not in wanted:
        return f"the job has no column {new}"
    if old in wanted:
        return f"the job has a column {old} still"
    if old in there and new in there:
        return "it has both columns"
    return "" if old in there or new in there else f"it has no column {old}"


def former_names(location: object, metadata: TableMetadata) -> dict[str, str]:
    """What columns were called before, and what they are called now.

    Raises:
        JobError: a name has been given to another column, so that names tell nothing.
    """
    now = {field.field_id: field.name for field in metadata.schema().fields}
    said = [
        (field.name, field.field_id)
        for schema in metadata.schemas
        for field in schema.fields
    ]
    mapping = metadata.name_mapping()
    for mapped in mapping.root if mapping else ():
        said += [(name, mapped.field_id) for name in mapped.names if mapped.field_id]
    found: dict[str, str] = {}
    for name, number in said:
        if number not in now or name == now[number]:
            continue
        if name in now.values() or found.get(name, now[number]) != now[number]:
            raise JobError(
                f"{location} has had two columns of the name {name}: its files cannot"
                " be read by names; write a plain copy of it"
            )
        found[name] = now[number]
    return found


def check_new_names(
    location: object, added: Iterable[str], former: Mapping[str, str]
) -> None:
    """A new column has a name that no other one had.

    Raises:
        JobError: files that are there would show another column's values in it.
    """
    for name in added:
        if name in former:
            raise JobError(
                f"the table {location} cannot have a new column {name}: that was the"
                f" name of {former[name]}, and files that are there call it so; give"
                " the column another name"
            )


def with_new_names(
    schema: pyarrow.Schema, renamed: Mapping[str, str]
) -> pyarrow.Schema:
    """The schema with other names, each column in its place."""
    import pyarrow as pa

    return pa.schema([f.with_name(renamed.get(f.name, f.name)) for f in schema])


def rows_with_new_names(rows: DataFrame, former: Mapping[str, str]) -> DataFrame:
    """Rows of older and newer files, under the names of now."""
    from pyspark.sql.functions import coalesce

    for old, new in former.items():
        if old not in rows.columns:
            continue
        if new not in rows.columns:
            rows = rows.withColumnRenamed(old, new)
            continue
        both = coalesce(rows[f"`{new}`"], rows[f"`{old}`"])
        rows = rows.withColumn(new, both).drop(old)
    return rows

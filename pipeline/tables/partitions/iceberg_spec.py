"""The partitioning of an Iceberg table, which knows how values are made of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow
    from pyiceberg.table import Table as IcebergTable

    from .partitioning import Partitioning

_FIRST_ID = 1000
_OF_TIME = ("year", "month", "day", "hour")


def iceberg_layout(
    schema: pyarrow.Schema, partitioning: Partitioning
) -> dict[str, Any]:
    """What a catalog is told of a new table: its schema and its partitions."""
    if not partitioning:
        return {"schema": schema}
    from pyiceberg.io.pyarrow import _pyarrow_to_schema_without_ids
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import assign_fresh_schema_ids
    from pyiceberg.transforms import parse_transform

    fresh = assign_fresh_schema_ids(_pyarrow_to_schema_without_ids(schema))
    fields = [
        PartitionField(
            source_id=fresh.find_field(field.column).field_id,
            field_id=_FIRST_ID + number,
            transform=parse_transform(field.transform[:-1] or "identity"),
            name=field.name,
        )
        for number, field in enumerate(partitioning.fields)
    ]
    return {"schema": fresh, "partition_spec": PartitionSpec(*fields)}


def partitions_of(table: IcebergTable) -> list[str]:
    """What a table is divided by, as a job says it."""
    schema = table.schema()
    found = []
    for field in table.spec().fields:
        column, transform = schema.find_column_name(field.source_id), field.transform
        name = str(transform)
        if name == "void":
            continue
        if name in _OF_TIME:
            found.append(f"{name}s({column})")
        else:
            found.append(str(column) if name == "identity" else f"{name}({column})")
    return found

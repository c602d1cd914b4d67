"""A table whose job has other columns than before: what can be changed, and how.

Rows that are there stay as they are. A column that is new to the table is null in them;
one that the job has no more is null from now on. A type may become wider where the
format knows how. Everything else would change what rows say, and is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.pipeline.job_errors import JobError

if TYPE_CHECKING:
    import pyarrow


class Evolution(NamedTuple):
    """What changes: ``files`` is the schema that new files have, column by column."""

    added: tuple[pyarrow.Field, ...]
    widened: tuple[pyarrow.Field, ...]
    files: pyarrow.Schema

    @property
    def changes_table(self) -> bool:
        """Whether the table itself is not as it has to be."""
        return bool(self.added or self.widened)


def evolution(
    location: object,
    there: pyarrow.Schema,
    wanted: pyarrow.Schema,
    plain: pyarrow.Schema | None = None,
    *,
    widens: bool = False,
) -> Evolution:
    """What has to change so that a table takes the rows of a job.

    ``plain`` is ``wanted`` in the types of the table's format.

    Raises:
        JobError: a type cannot become the other one; says which.
    """
    import pyarrow as pa

    plain = wanted if plain is None else plain
    fields, widened, refused = [], [], []
    for field in there:
        place = wanted.get_field_index(field.name)
        if place < 0:
            fields.append(field.with_nullable(True))
            continue
        kind = plain.field(place).type
        if kind == field.type:
            fields.append(wanted.field(place))
        elif is_wider(field.type, kind):  # as it was made by an earlier change
            fields.append(field)
        elif is_wider(kind, field.type) and widens:
            fields.append(wanted.field(place))
            widened.append(plain.field(place))
        else:
            types = _name(field.type), _name(kind)
            refused.append("{} is {} in the table and {} in".format(field.name, *types))
    if refused:
        how = (
            "A type can only become wider"
            if widens
            else "A table of this format keeps the types of its columns"
        )
        raise JobError(
            f"the table {location} cannot take the job's columns:"
            f" {' the job; '.join(refused)} the job. {how}: give the column another"
            " name"
        )
    names = set(there.names)
    added = [field.with_nullable(True) for field in wanted if field.name not in names]
    return Evolution(tuple(added), tuple(widened), pa.schema([*fields, *added]))


def _name(kind: pyarrow.DataType) -> str:
    return str(kind).removeprefix("large_")  # which Iceberg has for all texts


def is_wider(kind: pyarrow.DataType, other: pyarrow.DataType) -> bool:
    """Whether a type has all values of the other one, and is written alike."""
    import pyarrow as pa

    types = pa.types
    if types.is_signed_integer(kind) and types.is_signed_integer(other):
        return bool(kind.bit_width > other.bit_width)
    if types.is_floating(kind) and types.is_floating(other):
        return bool(kind.bit_width > other.bit_width)
    if types.is_decimal(kind) and types.is_decimal(other):
        return bool(kind.scale == other.scale and kind.precision > other.precision)
    return False


def aligned(rows: pyarrow.Table, schema: pyarrow.Schema) -> pyarrow.Table:
    """The rows with these columns; those that they lack are null."""
    import pyarrow as pa

    if rows.schema.equals(schema):
        return rows
    columns = [
        rows.column(field.name).cast(field.type)
        if field.name in rows.schema.names
        else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def unified(location: object, schemas: list[pyarrow.Schema]) -> pyarrow.Schema:
    """A schema for the rows of several files of a table.

    Raises:
        JobError: they are not of one table.
    """
    import pyarrow as pa

    if all(each.equals(schemas[0]) for each in schemas):
        return schemas[0]
    try:
        plain = [each.remove_metadata() for each in schemas]
        return pa.unify_schemas(plain, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise JobError(
            f"files of {location} have columns of types that do not fit: {error}"
        ) from None

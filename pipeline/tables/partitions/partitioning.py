"""How the rows of a table are divided: by values of columns, and by times.

``kind`` is a column, whose values divide; ``days(timestamp)`` divides by what is made
of a time. An Iceberg table knows how that is made. A Delta table has a column with what
was made, and a Parquet table folders, which are called after it: ``timestamp_day``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from odradek.pipeline.errors import did_you_mean
from odradek.pipeline.job_errors import JobError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow

TRANSFORMS = ("years", "months", "days", "hours")
_CALL = re.compile(r"(\w+)\(([^()]+)\)")
_MADE_OF = "odradek.partition"  # in a Delta table's schema
_OF_TIME = "years(...), months(...), days(...) or hours(...)"


class PartitionField(NamedTuple):
    """A column, and what is made of its values; nothing for the values themselves."""

    column: str
    transform: str = ""

    @property
    def name(self) -> str:
        """What the divided values are called.

        Without the underscore of the record's columns, because many readers of folders
        pass over those that begin with one.
        """
        if not self.transform:
            return self.column
        return f"{self.column.lstrip('_')}_{self.transform[:-1]}"

    def __str__(self) -> str:
        return f"{self.transform}({self.column})" if self.transform else self.column


@dataclass(frozen=True)
class Partitioning:
    """Of a table of some format; goes to the tasks as it is."""

    fields: tuple[PartitionField, ...] = ()
    kind: str = "parquet"

    def __bool__(self) -> bool:
        return bool(self.fields)

    def __str__(self) -> str:
        return ", ".join(map(str, self.fields))

    @property
    def names(self) -> list[str]:
        """What the divided values are called."""
        return [field.name for field in self.fields]

    @property
    def made(self) -> tuple[PartitionField, ...]:
        """Those whose values are made of a column's."""
        return tuple(field for field in self.fields if field.transform)

    def check(self, schema: pyarrow.Schema) -> None:
        """Whether rows of a schema can be divided so.

        Raises:
            JobError: says why not.
        """
        for field in self.fields:
            _check_field(field, schema)
            if self.kind == "parquet" and field.name.startswith("_"):
                raise _wrong(
                    f"the folders of a Parquet table would be called {field.name}=...,"
                    " and many readers pass over names that begin with an underscore;"
                    ' give it format = "delta" or "iceberg", or another column'
                )
        columns = [field.column for field in self.fields]
        if twice := {name for name in columns if columns.count(name) > 1}:
            raise _wrong(f"{twice.pop()} divides the table twice; say it once")
        if self.kind == "parquet" and set(schema.names) <= set(self.names):
            raise _wrong(
                "files of a Parquet table do not have the columns that divide it, and"
                " no other is left"
            )

    def with_made(self, schema: pyarrow.Schema) -> pyarrow.Schema:
        """The columns of a Delta table with the job's rows."""
        for field in self.made:
            noted = made_field(field).with_metadata({_MADE_OF: str(field)})
            schema = schema.append(noted)
        return schema

    def without_made(self, schema: pyarrow.Schema) -> pyarrow.Schema:
        """And the other way."""
        for field in self.made:
            place = schema.get_field_index(field.name)
            schema = schema if place < 0 else schema.remove(place)
        return schema


WHOLE = Partitioning()


def read_partitioning(where: str, texts: Sequence[object], kind: str) -> Partitioning:
    """The partitioning that a job file or a command line says, in ``where``.

    Raises:
        JobError: it is none.
    """
    fields = []
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise JobError(f"{where}: {text!r} is not the name of a column")
        if "(" not in text:
            fields.append(PartitionField(text.strip()))
            continue
        call = _CALL.fullmatch(text.strip())
        if call is None or call[1] not in TRANSFORMS:
            hint = did_you_mean(call[1], TRANSFORMS) if call else ""
            raise JobError(
                f"{where}: {text!r} is neither a column nor {_OF_TIME}{hint}"
            )
        fields.append(PartitionField(call[2].strip(), call[1]))
    return Partitioning(tuple(fields), kind)


def said_of(field: pyarrow.Field) -> str:
    """A column that divides a Delta table, as a job says it."""
    noted = (field.metadata or {}).get(_MADE_OF.encode())
    return noted.decode() if noted else str(field.name)


def check_same(location: object, there: Sequence[str], wanted: Partitioning) -> None:
    """The partitioning of a table that is there stays.

    Raises:
        JobError: the job has another one.
    """
    now = list(map(str, wanted.fields))
    if list(there) == now:
        return
    before = f"partitioned by {', '.join(there)}" if there else "not partitioned"
    given = f"by {', '.join(now)}" if now else "not at all"
    said = ", ".join(f'"{each}"' for each in there)
    raise JobError(
        f"the table {location} is {before}, and the job partitions {given}: that of a"
        f" table cannot change; say partition_by = [{said}], or give the job a new"
        " table"
    )


def made_field(field: PartitionField) -> pyarrow.Field:
    """The column of what is made of times."""
    import pyarrow as pa

    kinds = {"years": pa.int32(), "days": pa.date32()}
    return pa.field(field.name, kinds.get(field.transform, pa.string()))


def _check_field(field: PartitionField, schema: pyarrow.Schema) -> None:
    place = schema.get_field_index(field.column)
    if place < 0:
        raise _wrong(
            f"rows of this job have no column {field.column}."
            f"{did_you_mean(field.column, schema.names)} They have"
            f" {', '.join(schema.names)}"
        )
    if field.transform and field.name in schema.names:
        raise _wrong(
            f"what {field} makes would be called {field.name}, and there is a column"
            " of that name; divide the table by that"
        )
    kind = schema.field(place).type
    problem = _of_time(field, kind) if field.transform else _of_value(field, kind)
    if problem:
        raise _wrong(problem)


def _of_time(field: PartitionField, kind: pyarrow.DataType) -> str:
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return ""
    if not pa.types.is_date(kind):
        return f"{field}: {field.column} is {kind}, and no time"
    return f"{field}: a date has no hours" if field.transform == "hours" else ""


def _of_value(field: PartitionField, kind: pyarrow.DataType) -> str:
    import pyarrow as pa

    types = pa.types
    fits = (
        types.is_string,
        types.is_large_string,
        types.is_signed_integer,
        types.is_boolean,
        types.is_date32,
    )
    if any(is_it(kind) for is_it in fits):
        return ""
    if types.is_timestamp(kind):
        return f"each time would be a partition of its own: take {_OF_TIME} of it" + (
            f", like days({field.column})"
        )
    return (
        f"{field.column} is {kind}; tables are divided by texts, whole numbers, dates,"
        " true and false, and what is made of times"
    )


def _wrong(problem: str) -> JobError:
    return JobError(f"partition_by: {problem}")

"""What a Parquet table says of itself in ``_log/table.json``: job, columns, partitions.

The columns are there twice: as text, for people and for earlier versions, and as Arrow
writes a schema, from which it is made again.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from .partitions.partitioning import WHOLE
from .table import describe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow

    from .partitions.partitioning import Partitioning

_ARROW = "arrow"
_PARTITIONS = "partition_by"


def table_note(
    job: str, schema: pyarrow.Schema, partitioning: Partitioning = WHOLE
) -> dict[str, Any]:
    """The note of a table."""
    packed = base64.b64encode(schema.remove_metadata().serialize()).decode()
    note = {"version": 1, "job": job, "schema": describe(schema), _ARROW: packed}
    if partitioning:
        note[_PARTITIONS] = list(map(str, partitioning.fields))
    return note


def noted_partitioning(note: Mapping[str, Any]) -> list[str]:
    """What the table is divided by; nothing of most tables."""
    return [str(each) for each in note.get(_PARTITIONS, ())]


def noted_schema(
    note: Mapping[str, Any], files: Sequence[str]
) -> pyarrow.Schema | None:
    """The columns in a note; of a table of an earlier version those of its last file.

    None where there are neither: then there are no rows, either.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if _ARROW in note:
        packed = base64.b64decode(note[_ARROW])
        return pa.ipc.read_schema(pa.py_buffer(packed))
    return pq.read_schema(files[-1]).remove_metadata() if files else None

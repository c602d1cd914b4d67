"""What a Parquet table says of itself in ``_log/table.json``: its job, its columns.

The columns are there twice: as text, for people and for earlier versions, and as Arrow
writes a schema, from which it is made again.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from .table import describe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow

_ARROW = "arrow"


def table_note(job: str, schema: pyarrow.Schema) -> dict[str, Any]:
    """The note of a table."""
    packed = base64.b64encode(schema.remove_metadata().serialize()).decode()
    return {"version": 1, "job": job, "schema": describe(schema), _ARROW: packed}


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

"""What a job file must say, and must not, of a table that lies in a store."""

from __future__ import annotations

from typing import Any

from odradek.objects.location import is_object_url
from odradek.pipeline.job_errors import JobError


def check_in_store(top: dict[str, Any], table: dict[str, Any]) -> None:
    """What such a job lacks.

    ``top`` and ``table`` are sections of the file.

    Raises:
        JobError: says which key it is.
    """
    if not top["checkpoint"] or is_object_url(top["checkpoint"]):
        raise JobError(
            "checkpoint: Spark keeps it in a file system, and the table"
            f" {table['path']} lies in a store: name a folder of the driver's machine"
        )
    if table["compact_every"] and table["format"] == "parquet":
        raise JobError(
            "[table] compact_every: a Parquet table in a store cannot be compacted,"
            ' because no store exchanges two folders in one step; format = "delta" can'
        )

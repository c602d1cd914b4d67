"""Files that a table does not name any more, removed when nobody reads them.

Compaction, expired snapshots and batches that came to nothing leave files behind. A
reader of an earlier state, or of a branch, may need them for a while: so they go only
when they are old, and no state that the table still has names them.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.tables.iceberg import DATA, IcebergTableOfJob
from odradek.pipeline.tables.table import local_path

from .compaction import format_of

if TYPE_CHECKING:
    from pathlib import Path

_HOUR_S = 3600


def remove_old_files(location: str, catalog: dict[str, str], before_s: float) -> int:
    """Remove data files of a table that changed before then; how many it were.

    Raises:
        JobError: there is no table.
    """
    path = local_path(location)
    kind = format_of(path)
    if kind == "iceberg":
        return _of_iceberg(path, catalog, before_s)
    # A Parquet table has no other files than those that it shows.
    return _of_delta(path, before_s) if kind == "delta" else 0


def _of_delta(location: Path, before_s: float) -> int:
    """By deltalake's own means, which know files of earlier versions by their log."""
    from deltalake import DeltaTable

    hours = max(int((time.time() - before_s) // _HOUR_S), 0)
    removed = DeltaTable(str(location)).vacuum(
        retention_hours=hours, dry_run=False, enforce_retention_duration=False
    )
    return len(removed)


def _of_iceberg(location: Path, catalog: dict[str, str], before_s: float) -> int:
    table = IcebergTableOfJob(location, "", catalog)
    try:
        there = list((location / DATA).rglob("*.parquet"))
        old = [path for path in there if path.stat().st_mtime < before_s]
        if not old:
            return 0
        # Asked for after the files were found: what is committed now is named now.
        named = {os.path.realpath(path) for path in table.all_files()}
    finally:
        table.close()
    if named.isdisjoint(map(os.path.realpath, there)):
        raise JobError(
            f"none of the files in {location / DATA} is one of the table's: is it the"
            " folder of another? Nothing was removed"
        )
    return sum(_remove(path) for path in old if os.path.realpath(path) not in named)


def _remove(path: Path) -> bool:
    path.unlink(missing_ok=True)
    if not os.listdir(path.parent):
        path.parent.rmdir()
    return True

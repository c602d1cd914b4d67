"""Files that a table does not name any more, removed when nobody reads them.

Compaction, expired snapshots and batches that came to nothing leave files behind. A
reader of an earlier state, or of a branch, may need them for a while: so they go only
when they are old, and no state that the table still has names them.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.tables.iceberg import DATA, IcebergTableOfJob
from odradek.pipeline.tables.places.place import open_place

from .compaction import format_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from odradek.pipeline.tables.places.place import TablePlace

_HOUR_S = 3600


def remove_old_files(
    location: str,
    catalog: dict[str, str],
    before_s: float,
    store: Mapping[str, str] | None = None,
) -> int:
    """Remove data files of a table that changed before then; how many it were.

    Raises:
        JobError: there is no table.
    """
    place = open_place(location, store)
    kind = format_of(place)
    if kind == "iceberg":
        return _of_iceberg(place, catalog, before_s)
    # A Parquet table has no other files than those that it shows.
    return _of_delta(place, before_s) if kind == "delta" else 0


def _of_delta(place: TablePlace, before_s: float) -> int:
    """By deltalake's own means, which know files of earlier versions by their log."""
    from deltalake import DeltaTable

    hours = max(int((time.time() - before_s) // _HOUR_S), 0)
    with place.telling():
        table = DeltaTable(str(place.location), storage_options=place.library_options)
        removed = table.vacuum(
            retention_hours=hours, dry_run=False, enforce_retention_duration=False
        )
    # deltalake leaves the folders: one for each batch, which the next has to list.
    place.remove_empty(DATA, before_s)
    return len(removed)


def _of_iceberg(place: TablePlace, catalog: dict[str, str], before_s: float) -> int:
    table = IcebergTableOfJob(place, "", catalog)
    try:
        there = place.data_files(DATA)
        old = [path for path, changed_s in there.items() if changed_s < before_s]
        if not old:
            return 0
        # Asked for after the files were found: what is committed now is named now.
        named = {place.real(path) for path in table.all_files()}
    finally:
        table.close()
    if named.isdisjoint(map(place.real, there)):
        raise JobError(
            f"none of the files in {place.location}/{DATA} is one of the table's: is it"
            " the folder of another? Nothing was removed"
        )
    unnamed = [path for path in old if place.real(path) not in named]
    place.remove_files(unnamed)
    return len(unnamed)

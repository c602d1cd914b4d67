"""A Parquet table with fewer files takes the place of the table, in one step.

Beside the table a folder is made that has the large new files, links to the files that
stay, and links to the whole log; then the two change places. Who lists the folder sees
the one or the other. Who listed it before, and opens a file that is gone, gets an
error, never rows twice. A process that dies leaves the table as it was, and a folder
that the next compaction removes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import uuid
from typing import TYPE_CHECKING

from odradek.pipeline.tables.directory_exchange import exchange
from odradek.pipeline.tables.parquet import LOG, STAGE, ParquetTable
from odradek.pipeline.tables.partitions.partition_path import files_in
from odradek.pipeline.tables.table import DataFile, sync

from .compaction import NOTHING, Compaction, groups_of_partitions, open_file

if TYPE_CHECKING:
    from pathlib import Path

    from .compaction import Rewrite, Rewritten


def compact_parquet(
    location: Path, file_size: int, rewrite: Rewrite, *, is_ours: bool = False
) -> Compaction:
    """Compact a table that nobody writes to, but perhaps who calls this.

    Raises:
        JobError: somebody writes to it, or folders cannot be exchanged.
    """
    about = json.loads((location / LOG / "table.json").read_text())
    table = ParquetTable(location, about["job"], takes_lock=not is_ours)
    table.lock()
    try:
        last = table.last_commit(about["job"])
        if last is not None:
            table.publish(last)
        _remove_leftovers(location)
        return _compact(location, file_size, rewrite)
    finally:
        table.close()


def _compact(location: Path, file_size: int, rewrite: Rewrite) -> Compaction:
    files = [
        DataFile(
            path,
            open_file(path).metadata.num_rows,
            os.path.getsize(path),
            os.path.dirname(os.path.relpath(path, location)),
        )
        for path in files_in(location)
    ]
    groups = groups_of_partitions(files, file_size)
    if not groups:
        return NOTHING._replace(files_before=len(files), files_after=len(files))
    fresh = location.with_name(f".{location.name}.compact-{uuid.uuid4().hex}")
    fresh.mkdir()
    rewritten = rewrite(groups, fresh)
    replaced = {file.path for group in groups for file in group.files}
    for partition in {file.partition_path for file in files}:
        (fresh / partition).mkdir(parents=True, exist_ok=True)
    for each in rewritten:
        _name(each, fresh / each.group.files[0].partition_path)
    for file in files:
        if file.path not in replaced:
            os.link(file.path, fresh / os.path.relpath(file.path, location))
    for folder, _, names in os.walk(location / LOG):
        target = fresh / os.path.relpath(folder, location)
        target.mkdir()
        for name in names:
            os.link(os.path.join(folder, name), target / name)
    (fresh / STAGE).mkdir()
    for path, _, _ in os.walk(fresh, topdown=False):
        sync(path)
    exchange(location, fresh)
    sync(location.parent)
    shutil.rmtree(fresh, ignore_errors=True)
    return Compaction(
        files_before=len(files),
        files_after=len(files) - len(replaced) + len(rewritten),
        row_count=sum(each.file.row_count for each in rewritten),
        size_before=sum(each.group.size for each in rewritten),
        size_after=sum(each.file.size for each in rewritten),
    )


def _name(each: Rewritten, folder: Path) -> None:
    """A name that sorts where the first of the files did, whose rows it has."""
    first = os.path.basename(each.group.files[0].path).removesuffix(".parquet")
    stem = re.sub(r"-[0-9a-f]{8}(-compact)?$", "", first)
    path = folder / f"{stem}-{uuid.uuid4().hex[:8]}-compact.parquet"
    os.rename(each.file.path, path)


def _remove_leftovers(location: Path) -> None:
    for folder in location.parent.glob(f".{location.name}.compact-*"):
        shutil.rmtree(folder, ignore_errors=True)

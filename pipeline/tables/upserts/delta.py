"""A Delta table that has the last row of each key: a batch is one merge.

The merge is one entry of the log, with ``txn(job, batch)`` and the job's `Commit`, as
files that are appended are. One that changes nothing writes no entry: then there is one
without files. What the tasks have written is no part of the table, and removed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.pipeline.tables.delta import DATA, DeltaTableOfJob
from odradek.pipeline.tables.partitions.splitting import laid_out
from odradek.pipeline.tables.table import UPSERT, sync

from .last_rows import DELETED, KeyColumns, last_rows, read_rows

if TYPE_CHECKING:
    import pyarrow
    from deltalake import CommitProperties, DeltaTable

    from odradek.pipeline.tables.commit import Commit
    from odradek.pipeline.tables.places.place import TablePlace
    from odradek.pipeline.tables.table import DataFile


class DeltaUpserts(DeltaTableOfJob):
    """The table, as one driver of one job uses it."""

    mode = UPSERT
    _adds_entries = False  # a merge is deltalake's

    def __init__(self, place: TablePlace | Path, job: str, columns: KeyColumns) -> None:
        super().__init__(place, job)
        self._columns = columns

    def _add(self, table: DeltaTable, commit: Commit, files: list[DataFile]) -> None:
        rows = read_rows([self._place.open(file.path) for file in files])
        # Merged, the table that is given is the one behind the merge.
        files_before, version_before = set(table.file_uris()), table.version()
        if rows is not None:
            with self._refusing(commit):
                last = last_rows(rows, self._columns)
                last = laid_out(self._partitioning, last)
                self._merge(table, last, self._properties(commit))
        there = self._table()
        self._sync_new(there, files_before, version_before)
        if there.transaction_version(commit.job) != commit.batch:
            self._write(there, [], commit)

    def _merge(
        self, table: DeltaTable, rows: pyarrow.Table, properties: CommitProperties
    ) -> None:
        key = self._columns.key
        names = [name for name in rows.column_names if name != DELETED]
        values = {f"`{name}`": f"s.`{name}`" for name in names}
        (
            table.merge(
                rows,
                predicate=f"t.`{key}` = s.`{key}`",
                source_alias="s",
                target_alias="t",
                commit_properties=properties,
            )
            .when_matched_delete(f"s.`{DELETED}`")
            .when_matched_update(values, predicate=f"NOT s.`{DELETED}`")
            .when_not_matched_insert(values, predicate=f"NOT s.`{DELETED}`")
            .execute()
        )

    def _sync_new(self, there: DeltaTable, files: set[str], version: int) -> None:
        """What the merge has written, before Spark is told that the batch is done."""
        if not isinstance(self.location, Path):
            return  # a store has what it has said that it has
        log = self.location / "_delta_log"
        for path in set(there.file_uris()) - files:
            sync(path)
        for number in range(version + 1, there.version() + 1):
            if (entry := log / f"{number:020d}.json").exists():
                sync(entry)
        sync(log)
        sync(self.location)

    def publish(self, commit: Commit) -> None:
        """Note where the job is, and remove what was merged."""
        super().publish(commit)
        if commit.staged:
            self._place.remove_folder(DATA, os.path.basename(commit.staged))

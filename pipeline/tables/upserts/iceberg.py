"""An Iceberg table that has the last row of each key.

A batch is one commit of at most two snapshots: one without the rows whose keys come
again, and one with their last rows. Readers see both or none. Files that have a row of
such a key are written anew without it (copy on write). What the tasks have written is
no part of the table, and removed.
"""

from __future__ import annotations

import os
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.tables import carried_commits
from odradek.pipeline.tables.iceberg import DATA, IcebergTableOfJob, local_name
from odradek.pipeline.tables.partitions.partitioning import WHOLE
from odradek.pipeline.tables.snapshot_history import newest_only
from odradek.pipeline.tables.table import UPSERT, sync

from .last_rows import DELETED, KeyColumns, last_rows, read_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import Table as IcebergTable
    from pyiceberg.table.metadata import TableMetadata

    from odradek.pipeline.tables.commit import Commit
    from odradek.pipeline.tables.partitions.partitioning import Partitioning
    from odradek.pipeline.tables.places.place import TablePlace


class IcebergUpserts(IcebergTableOfJob):
    """The table, as one driver of one job uses it."""

    mode = UPSERT

    def __init__(
        self,
        place: TablePlace | Path,
        job: str,
        options: Mapping[str, str],
        columns: KeyColumns,
    ) -> None:
        super().__init__(place, job, options)
        self._columns = columns

    def create(
        self,
        schema: pyarrow.Schema,
        *,
        evolves: bool = False,
        partitioning: Partitioning = WHOLE,
        renamed: Mapping[str, str] | None = None,
    ) -> pyarrow.Schema:
        """As of any Iceberg table.

        Raises:
            JobError: as there; or a package is missing.
        """
        if partitioning.made and find_spec("pyiceberg_core") is None:
            raise JobError(
                f"partition_by: {partitioning.made[0]}: pyiceberg writes rows of such"
                " partitions anew with one more package: pip install"
                " 'pyiceberg[pyiceberg-core]'; or divide the table by columns alone"
            )
        return super().create(
            schema, evolves=evolves, partitioning=partitioning, renamed=renamed
        )

    def _append(
        self, table: IcebergTable, commit: Commit, paths: list[str]
    ) -> IcebergTable:
        """The table with the last rows of the files."""
        rows = read_rows([self._place.open(local_name(path)) for path in paths])
        if rows is None:
            return super()._append(table, commit, [])
        return self._upsert(table, commit, last_rows(rows, self._columns))

    def _upsert(
        self, table: IcebergTable, commit: Commit, rows: pyarrow.Table
    ) -> IcebergTable:
        import pyarrow.compute as pc

        keys = rows.column(self._columns.key).to_pylist()
        kept = rows.filter(pc.invert(rows.column(DELETED))).drop_columns([DELETED])
        commits = carried_commits.last_commits(table.metadata) | {commit.job: commit}
        summary = carried_commits.in_summary(commits)
        based = newest_only(table)
        before = self._written()
        with based.transaction() as transaction, warnings.catch_warnings():
            # That a key was not there before is no wonder.
            warnings.simplefilter("ignore", UserWarning)
            if table.current_snapshot() is not None:
                gone = _one_of(self._columns.key, keys)
                transaction.delete(gone, snapshot_properties=summary)
            if kept.num_rows:
                transaction.append(kept, snapshot_properties=summary)
            elif _snapshot_of(transaction.table_metadata) == _snapshot_of(
                table.metadata
            ):  # keys have gone that were not there
                transaction.add_files([], summary, check_duplicate_files=False)
            transaction.set_properties(
                carried_commits.in_properties(table.metadata, commits)
            )
            self._sync_new(before)
        return based

    def _written(self) -> set[str]:
        """The files that may have to be synced, of all partitions; none in a store."""
        if not isinstance(self.location, Path):
            return set()
        return {
            os.path.join(folder, name)
            for folder, _, names in os.walk(self.location / DATA)
            for name in names
        }

    def _sync_new(self, before: set[str]) -> None:
        """What was written is durable before it is committed."""
        if not isinstance(self.location, Path):
            return
        new = self._written() - before
        for path in new:
            sync(path)
        folders = {self.location / DATA}
        for path in new:
            inside = Path(path).relative_to(self.location / DATA).parents
            folders |= {self.location / DATA / folder for folder in inside}
        for folder in sorted(folders, reverse=True):
            sync(folder)

    def publish(self, commit: Commit) -> None:
        """Say where the newest state is, and remove what was merged."""
        super().publish(commit)
        if commit.staged:
            self._place.remove_folder(DATA, os.path.basename(commit.staged))


def _one_of(name: str, values: list[bytes]) -> BooleanExpression:
    from pyiceberg.expressions import In

    make: Callable[..., BooleanExpression] = In
    return make(name, values)


def _snapshot_of(metadata: TableMetadata) -> int | None:
    return metadata.current_snapshot_id

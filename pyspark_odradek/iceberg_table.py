"""An Iceberg table that jobs append to, through pyiceberg (no jar).

A batch is one snapshot, whose summary has the job's `Commit`. pyiceberg by itself
tries a commit again on top of another driver's, which would write the batch twice:
the table is told to try once, and the summaries are looked at before and after.

The catalog is a SQLite file in the table's folder, or any that pyiceberg knows, given
by its properties. ``metadata/version-hint.text`` is kept up to date, so that readers
without the catalog find the newest state.
"""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from .commit import Commit, read_commit
from .job_errors import CommitRefused, JobError
from .table import DataFile, check_schema, describe, leftovers, staging_name, sync

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow
    from pyiceberg.catalog import Catalog
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import DataFile as IcebergFile
    from pyiceberg.table import Table as IcebergTable
    from pyiceberg.table.metadata import TableMetadata

DATA = "data"
NAMESPACE = "odradek"
SUMMARY = "odradek.commit."
_TRIES = 5
_PROPERTIES = {
    "commit.retry.num-retries": "0",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}


class IcebergTableOfJob:
    """An Iceberg table, as one driver of one job uses it."""

    def __init__(self, location: Path, job: str, options: Mapping[str, str]) -> None:
        # Said here, and not when rows have been written.
        import pyiceberg.catalog  # noqa: F401

        self.location = location
        self._job = job
        self._options = dict(options)
        self._is_given = bool(self._options)
        self._catalog_name = self._options.pop("name", NAMESPACE)
        name = self._options.pop("table", "")
        self._name = name or f"{NAMESPACE}.{location.name.replace('.', '_')}"
        self._catalog_found: Catalog | None = None

    def _catalog(self) -> Catalog:
        from pyiceberg.catalog import load_catalog

        if self._catalog_found is None:
            options = (
                self._options
                if self._is_given
                else {
                    "type": "sql",
                    "uri": f"sqlite:///{self.location}/catalog.db",
                    "warehouse": self.location.parent.as_uri(),
                }
            )
            if not self._is_given:
                self.location.mkdir(parents=True, exist_ok=True)
            self._catalog_found = load_catalog(self._catalog_name, **options)
        return self._catalog_found

    def exists(self) -> bool:
        """Whether there is a table."""
        if not self._is_given and not (self.location / "catalog.db").exists():
            return False
        return bool(self._catalog().table_exists(self._name))

    def load(self) -> IcebergTable:
        """The table as it is now."""
        return self._catalog().load_table(self._name)

    def create(self, schema: pyarrow.Schema) -> None:
        """Make the table if there is none.

        Raises:
            JobError: there is one with another schema.
        """
        if not self.exists():
            self._catalog().create_namespace_if_not_exists(
                self._name.rpartition(".")[0]
            )
            self._catalog().create_table_if_not_exists(
                self._name,
                schema=schema,
                location=self.location.as_uri(),
                properties=_PROPERTIES,
            )
            self.write_hint()
        table = self.load()
        if table.properties.get("commit.retry.num-retries") != "0":
            raise JobError(
                f"the Iceberg table {self._name} was not made by odradek: its property "
                "commit.retry.num-retries must be 0, or a second driver of the job "
                "would write rows twice; set it, or give the job a new table"
            )
        check_schema(self.location, _described(table), describe(_plain(schema)))

    def last_commit(self, job: str) -> Commit | None:
        """The job's last commit, as the table is now."""
        return self._last_of(self.load(), job) if self.exists() else None

    def _last_of(self, table: IcebergTable, job: str) -> Commit | None:
        snapshot = table.current_snapshot()
        while snapshot is not None:
            text = snapshot.summary and snapshot.summary.get(SUMMARY + job)
            if text:
                return read_commit(text)
            parent = snapshot.parent_snapshot_id
            snapshot = None if parent is None else table.snapshot_by_id(parent)
        return None

    def staging(self, batch: int) -> Path:
        """A new folder for files of a batch, which no snapshot names."""
        folder = self.location / DATA / staging_name(self._job, batch)
        folder.mkdir(parents=True)
        return folder

    def commit(self, commit: Commit, files: list[DataFile]) -> None:
        """Add the files: the commit point of a batch.

        Raises:
            CommitRefused: another driver of the job did it.
        """
        from pyiceberg.exceptions import CommitFailedException

        for folder in {os.path.dirname(file.path) for file in files}:
            sync(folder)
        for file in files:
            sync(file.path)
        sync(self.location / DATA)
        paths = [Path(file.path).as_uri() for file in files]
        for tries_left in reversed(range(_TRIES)):
            table = self.load()
            before = self._last_of(table, commit.job)
            if before is not None and before.batch >= commit.batch:
                raise self._refused(commit)
            try:
                self._append(table, commit, paths)
                break
            except CommitFailedException:
                # Of another job, of a compaction, or of another driver of this job.
                if not tries_left:
                    raise self._refused(commit) from None
        self._check(commit)

    def _append(self, table: IcebergTable, commit: Commit, paths: list[str]) -> None:
        with table.transaction() as transaction:
            transaction.add_files(
                paths,
                snapshot_properties={SUMMARY + commit.job: commit.as_json()},
                check_duplicate_files=False,
            )

    def _check(self, commit: Commit) -> None:
        """The newest commit of the job must be ours, and be there once."""
        table, count = self.load(), 0
        for snapshot in reversed(table.metadata.snapshots):
            text = snapshot.summary and snapshot.summary.get(SUMMARY + commit.job)
            if text and (found := read_commit(text)).batch >= commit.batch:
                count += 1
                if found.staged != commit.staged or count > 1:
                    raise self._refused(commit)
            elif text:
                break

    def _refused(self, commit: Commit) -> CommitRefused:
        return CommitRefused(
            f"batch {commit.batch} of the job {commit.job!r} was committed by another "
            f"driver to {self._name}; stop one of the two"
        )

    def publish(self, commit: Commit) -> None:
        """Say where the newest state is, and remove what nobody can commit."""
        self.write_hint()
        folder = self.location / DATA
        names = os.listdir(folder) if folder.exists() else []
        for name in leftovers(names, commit.job, commit):
            shutil.rmtree(folder / name, ignore_errors=True)

    def write_hint(self) -> None:
        """Let readers without the catalog find the newest state."""
        metadata = self.load().metadata_location.rpartition("/")[2]
        hint = self.location / "metadata" / "version-hint.text"
        temporary = hint.with_name(f".{uuid.uuid4().hex}")
        temporary.write_text(metadata.removesuffix(".metadata.json"))
        os.replace(temporary, hint)

    def close(self) -> None:
        """Close the catalog."""
        if self._catalog_found is not None:
            self._catalog_found.close()
            self._catalog_found = None


def data_files_of(
    metadata: TableMetadata, paths: list[str], io: FileIO
) -> list[IcebergFile]:
    """The entries for Parquet files, with the statistics of their columns."""
    from pyiceberg.io.pyarrow import parquet_files_to_data_files

    return list(parquet_files_to_data_files(io, metadata, iter(paths)))


def _plain(schema: pyarrow.Schema) -> pyarrow.Schema:
    """The schema as the table has it: Iceberg knows fewer types than Arrow."""
    from pyiceberg.io.pyarrow import _pyarrow_to_schema_without_ids, schema_to_pyarrow
    from pyiceberg.schema import assign_fresh_schema_ids

    fresh = assign_fresh_schema_ids(_pyarrow_to_schema_without_ids(schema))
    return schema_to_pyarrow(fresh, include_field_ids=False)


def _described(table: IcebergTable) -> list[list[str]]:
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    return describe(schema_to_pyarrow(table.schema(), include_field_ids=False))

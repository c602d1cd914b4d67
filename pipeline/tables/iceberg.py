"""An Iceberg table that jobs append to, through pyiceberg (no jar).

A batch is one snapshot, whose summary has the job's `Commit`, and those of the other
jobs (see `carried_commits`). pyiceberg by itself tries a commit again on top of another
driver's, which would write the batch twice: the table is told to try once, and the
summaries are looked at before and after.

The catalog is a SQLite file in the table's folder, or any that pyiceberg knows, given
by its properties. ``metadata/version-hint.text`` is kept up to date, so that readers
without the catalog find the newest state.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from odradek.pipeline.job_errors import CommitRefused, JobError

from . import carried_commits
from .column_names import check_new_names, former_names, to_rename, with_new_names
from .evolution import evolution
from .partitions.iceberg_spec import iceberg_layout, partitions_of
from .partitions.partitioning import WHOLE, check_same
from .places.place import place_of
from .snapshot_history import SNAPSHOTS_MAX, expire, newest_only, to_expire
from .staging import Leftovers, staging_name
from .table import MODE, DataFile, check_mode, check_schema, describe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    import pyarrow
    from pyiceberg.catalog import Catalog
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import DataFile as IcebergFile
    from pyiceberg.table import Table as IcebergTable
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot
    from pyiceberg.table.update.schema import UpdateSchema

    from .commit import Commit
    from .evolution import Evolution
    from .partitions.partitioning import Partitioning
    from .places.place import StagingFolder, TablePlace

DATA = "data"
NAMESPACE = "odradek"
_TRIES = 5
_PROPERTIES = {
    "commit.retry.num-retries": "0",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    # Manifests are merged by a hundred, and those of a few thousand files are left
    # alone: otherwise each hundredth batch of a large table would take ten seconds.
    "commit.manifest-merge.enabled": "true",
    "commit.manifest.target-size-bytes": str(512 << 10),
    SNAPSHOTS_MAX: "500",
}


class IcebergTableOfJob:
    """An Iceberg table, as one driver of one job uses it."""

    is_of_one_job = False
    mode = ""

    def __init__(
        self, place: TablePlace | Path, job: str, options: Mapping[str, str]
    ) -> None:
        # Said here, and not when rows have been written.
        import pyiceberg.catalog  # noqa: F401

        self._place = place_of(place)
        self.location = location = self._place.location
        self._job = job
        self._options = dict(options)
        self._is_given = bool(self._options)
        self._catalog_name = self._options.pop("name", NAMESPACE)
        name = self._options.pop("table", "")
        self._name = name or f"{NAMESPACE}.{location.name.replace('.', '_')}"
        self._catalog_found: Catalog | None = None
        self._committed: IcebergTable | None = None
        self._leftovers = Leftovers(self._place, DATA)

    def _catalog(self) -> Catalog:
        from pyiceberg.catalog import load_catalog

        if self._catalog_found is None:
            options = self._place.catalog(
                self._options if self._is_given else None, self._catalog_name
            )
            self._catalog_found = load_catalog(self._catalog_name, **options)
        return self._catalog_found

    def exists(self) -> bool:
        """Whether there is a table."""
        return self._found() is not None

    def _found(self) -> IcebergTable | None:
        from pyiceberg.exceptions import NoSuchTableError

        if not self._is_given and not self._place.has_catalog():
            return None
        try:
            return self.load()
        except NoSuchTableError:
            return None

    def load(self) -> IcebergTable:
        """The table as it is now."""
        return self._catalog().load_table(self._name)

    def create(
        self,
        schema: pyarrow.Schema,
        *,
        evolves: bool = False,
        partitioning: Partitioning = WHOLE,
        renamed: Mapping[str, str] | None = None,
    ) -> pyarrow.Schema:
        """Make the table if there is none, or let it follow the job's columns.

        Raises:
            JobError: there is one with another schema or partitioning.
        """
        partitioning.check(schema)
        if not self.exists():
            self._catalog().create_namespace_if_not_exists(
                self._name.rpartition(".")[0]
            )
            self._catalog().create_table_if_not_exists(
                self._name,
                **iceberg_layout(schema, partitioning),
                location=self._place.uri,
                properties=_PROPERTIES | ({MODE: self.mode} if self.mode else {}),
            )
            self.write_hint()
        table = self.load()
        if table.properties.get("commit.retry.num-retries") != "0":
            raise JobError(
                f"the Iceberg table {self._name} was not made by odradek: its property "
                "commit.retry.num-retries must be 0, or a second driver of the job "
                "would write rows twice; set it, or give the job a new table"
            )
        check_mode(self.location, table.properties.get(MODE), self.mode)
        check_same(self.location, partitions_of(table), partitioning)
        there, plain = _arrow_schema(table), _plain(schema)
        if not evolves:
            check_schema(self.location, describe(there), describe(plain))
            return schema
        names = to_rename(self.location, there.names, schema.names, renamed or {})
        there = with_new_names(there, names)
        change = evolution(self.location, there, schema, plain, widens=True)
        former = former_names(self.location, table.metadata)
        new_names = [field.name for field in change.added]
        check_new_names(self.location, new_names, former | names)
        if names:
            self._rename(names)
        if change.changes_table:
            self._change(change)
        return change.files

    def _rename(self, names: Mapping[str, str]) -> None:
        with self._changing() as update:
            for old, new in names.items():
                update.rename_column(old, new)

    def _change(self, change: Evolution) -> None:
        import pyarrow as pa

        with self._changing() as update:
            update.union_by_name(pa.schema([*change.added, *change.widened]))

    @contextmanager
    def _changing(self) -> Iterator[UpdateSchema]:
        from pyiceberg.exceptions import CommitFailedException

        try:
            with self.load().update_schema() as update:
                yield update
        except CommitFailedException:
            raise JobError(
                f"another process committed to {self._name} while its columns were "
                "changed; nothing was changed, try it again"
            ) from None
        self.write_hint()

    def last_commit(self, job: str) -> Commit | None:
        """The job's last commit, as the table is now."""
        table = self._found()
        if table is None:
            return None
        return carried_commits.last_commit(table.metadata, job)

    def recent(self, job: str, count: int) -> list[Commit]:
        """The job's last commits that snapshots still say, the newest first."""
        table = self._found()
        found: dict[int, Commit] = {}
        for snapshot in carried_commits.lineage(table.metadata) if table else ():
            commit = carried_commits.commit_in(snapshot, job)
            if commit is not None:
                found[commit.batch] = commit
            if len(found) == count:
                break
        return list(found.values())

    def staging(self, batch: int) -> StagingFolder:
        """A new folder for files of a batch, which no snapshot names."""
        self._leftovers.begin(batch)
        return self._place.staging(DATA, staging_name(self._job, batch))

    def commit(self, commit: Commit, files: list[DataFile]) -> None:
        """Add the files: the commit point of a batch.

        Raises:
            CommitRefused: another driver of the job did it.
        """
        from pyiceberg.exceptions import (
            CommitFailedException,
            CommitStateUnknownException,
        )

        self._place.settle([file.path for file in files], DATA)
        paths = [self._place.uri_of(file.path) for file in files]
        for tries_left in reversed(range(_TRIES)):
            table = self.load()
            before = carried_commits.last_commit(table.metadata, commit.job)
            if before == commit and commit.staged:  # the answer was lost
                self._committed = table
                return
            if before is not None and before.batch >= commit.batch:
                raise self._refused(commit)
            try:
                self._committed = self._append(table, commit, paths)
                self._check(self._committed, commit)
                return
            except (CommitFailedException, CommitStateUnknownException):
                # Of another job, of a compaction, or of another driver of this job.
                # What comes too late of an earlier try is refused by the catalog.
                if not tries_left:
                    raise self._refused(commit) from None

    def _append(
        self, table: IcebergTable, commit: Commit, paths: list[str]
    ) -> IcebergTable:
        """The table with the files."""
        commits = carried_commits.last_commits(table.metadata) | {commit.job: commit}
        based = newest_only(table)
        with based.transaction() as transaction:
            transaction.add_files(
                paths,
                snapshot_properties=carried_commits.in_summary(commits),
                check_duplicate_files=False,
            )
            transaction.set_properties(
                carried_commits.in_properties(table.metadata, commits)
            )
        return based

    def _check(self, table: IcebergTable, commit: Commit) -> None:
        """No snapshot may say that another driver made this batch or a later one."""
        for snapshot in carried_commits.lineage(table.metadata):
            found = carried_commits.commit_in(snapshot, commit.job)
            if found is not None and found.batch < commit.batch:
                break
            if found is not None and found.staged != commit.staged:
                raise self._refused(commit)

    def _refused(self, commit: Commit) -> CommitRefused:
        return CommitRefused(
            f"batch {commit.batch} of the job {commit.job!r} was committed by another "
            f"driver to {self._name}; stop one of the two"
        )

    def publish(self, commit: Commit) -> None:
        """Say where the newest state is, and remove what nobody needs."""
        table, self._committed = self._committed or self.load(), None
        if old := to_expire(table.metadata):
            expire(table, old)
            table = self.load()
        self.write_hint(table)
        self._leftovers.remove(commit, self.all_files)

    def restore(self, commit: Commit) -> None:
        """Say again where the job is; the table has no more rows than before.

        Raises:
            CommitRefused: the table has a later batch of the job.
        """
        self.commit(commit, [])
        self.write_hint()

    def files(self) -> list[str]:
        """The paths of all files of the table as it is now."""
        table = self._found()
        newest = table and table.current_snapshot()
        return sorted(_files_of(table, [newest])) if table and newest else []

    def all_files(self) -> set[str]:
        """Those of each snapshot: a branch, a tag, a reader may use an earlier one."""
        table = self.load()
        return _files_of(table, table.metadata.snapshots)

    def write_hint(self, table: IcebergTable | None = None) -> None:
        """Let readers without the catalog find the newest state."""
        metadata = (table or self.load()).metadata_location.rpartition("/")[2]
        hint = metadata.removesuffix(".metadata.json")
        self._place.write(hint, "metadata", "version-hint.text")

    def open(self, path: str) -> Any:
        """One of them, as pyarrow takes it; None if it lies somewhere else."""
        return self._place.open(path)

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


def _files_of(table: IcebergTable, snapshots: Iterable[Snapshot]) -> set[str]:
    manifests = {}
    for snapshot in snapshots:
        for manifest in snapshot.manifests(table.io):
            manifests[manifest.manifest_path] = manifest
    return {
        local_name(entry.data_file.file_path)
        for manifest in manifests.values()
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)
    }


def local_name(uri: str) -> str:
    """The path in a file's URI; one of a store stays as it is."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri


def _plain(schema: pyarrow.Schema) -> pyarrow.Schema:
    """The schema as the table has it: Iceberg knows fewer types than Arrow."""
    from pyiceberg.io.pyarrow import _pyarrow_to_schema_without_ids, schema_to_pyarrow
    from pyiceberg.schema import assign_fresh_schema_ids

    fresh = assign_fresh_schema_ids(_pyarrow_to_schema_without_ids(schema))
    return schema_to_pyarrow(fresh, include_field_ids=False)


def _arrow_schema(table: IcebergTable) -> pyarrow.Schema:
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    return schema_to_pyarrow(table.schema(), include_field_ids=False)

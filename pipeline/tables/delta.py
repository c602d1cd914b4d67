"""A Delta table that jobs append to, through deltalake (no jar).

A batch is one entry of the Delta log: the files, ``txn(job, batch)``, and the job's
`Commit` in the entry's ``commitInfo``. deltalake writes a job's first; those behind it
are added without reading the table (`delta_entries`), where it asks for no more.
deltalake refuses a batch that another driver commits at the same time, but not one that
was committed before: the version of the transaction is looked at first, in the same
snapshot that the commit is based on.

What finds a job's last commit: the table's transaction identifiers say its number, the
entry of the log its offsets. Both go in time (``delta.setTransactionRetentionDuration``
and ``delta.logRetentionDuration``); then a note beside the table has them.
"""

from __future__ import annotations

import json
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from odradek.objects.errors import StoreAway, StoreError
from odradek.pipeline.job_errors import CommitRefused, JobError, PositionLost

from .commit import Commit, read_commit
from .commit_note import CommitNote
from .delta_entries import DeltaEntries, Uncertain
from .evolution import evolution
from .partitions.partition_path import values_of
from .partitions.partitioning import WHOLE, check_same, said_of
from .places.place import place_of
from .staging import Leftovers, staging_name
from .table import (
    MODE,
    UPSERT,
    DataFile,
    check_mode,
    check_schema,
    describe,
    refuse_renamed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import pyarrow
    from deltalake import CommitProperties, DeltaTable

    from .partitions.partitioning import Partitioning
    from .places.place import StagingFolder, TablePlace

_log = logging.getLogger(__name__)

DATA = "data"
# How far back the job's last entry is looked for, first.
_HISTORY = (1, 50)
# What a table is described as: deltalake refuses properties that it does not know.
_UPSERTS = f"The last row of each key ({MODE}={UPSERT})"


class DeltaTableOfJob:
    """A Delta table, as one driver of one job uses it."""

    is_of_one_job = False
    mode = ""
    _adds_entries = True

    def __init__(self, place: TablePlace | Path, job: str) -> None:
        # Said here, and not when rows have been written.
        import deltalake

        self._deltalake = deltalake
        self._place = place_of(place)
        self.location = self._place.location
        self._job = job
        self._entries = DeltaEntries(self._place, job)
        self._leftovers = Leftovers(self._place, DATA)
        self._partitioning = WHOLE

    def exists(self) -> bool:
        """Whether there is a table."""
        if self._place.library_options is None:
            is_table = self._deltalake.DeltaTable.is_deltatable
            return bool(is_table(str(self.location)))
        # That keeps the GIL while a store is asked; this does not.
        from deltalake.exceptions import TableNotFoundError

        try:
            self._table()
        except TableNotFoundError:
            return False
        return True

    def _table(self) -> DeltaTable:
        with self._place.telling():
            options = self._place.library_options
            return self._deltalake.DeltaTable(
                str(self.location), storage_options=options
            )

    def create(
        self,
        schema: pyarrow.Schema,
        *,
        evolves: bool = False,
        partitioning: Partitioning = WHOLE,
        renamed: Mapping[str, str] | None = None,
    ) -> pyarrow.Schema:
        """Make the table if there is none, or let it have the job's columns, too.

        Raises:
            JobError: there is one with another schema or partitioning.
        """
        import pyarrow as pa

        refuse_renamed("Delta", renamed)
        partitioning.check(schema)
        self._partitioning = partitioning
        schema = partitioning.with_made(schema)
        self._place.check()
        if "%" in str(self.location):
            raise JobError(
                f"{self.location}: deltalake takes the % in this path for the beginning"
                " of an escape, and finds no such folder; give the table another path"
            )
        if not self.exists():
            self._place.make()
            with self._place.telling():
                self._deltalake.DeltaTable.create(
                    str(self.location),
                    schema=schema,
                    mode="ignore",
                    partition_by=partitioning.names,
                    description=_UPSERTS if self.mode else None,
                    storage_options=self._place.library_options,
                )
        table = self._table()
        mode = UPSERT if table.metadata().description == _UPSERTS else ""
        check_mode(self.location, mode, self.mode)
        check_same(self.location, self._partitions_of(table), partitioning)
        there = pa.schema(table.schema())
        plain = pa.schema(self._deltalake.Schema.from_arrow(schema))
        if not evolves:
            check_schema(self.location, describe(there), describe(plain))
            return partitioning.without_made(schema)
        change = evolution(self.location, there, schema, plain)
        if change.added:
            added = self._deltalake.Schema.from_arrow(pa.schema(change.added))
            self._alter(table, added.fields)
        return partitioning.without_made(change.files)

    @staticmethod
    def _partitions_of(table: DeltaTable) -> list[str]:
        """As a job says them."""
        import pyarrow as pa

        schema = pa.schema(table.schema())
        names = table.metadata().partition_columns
        return [said_of(schema.field(name)) for name in names]

    def _alter(self, table: DeltaTable, fields: list[Any]) -> None:
        from deltalake.exceptions import DeltaError

        try:
            with self._place.telling():
                table.alter.add_columns(fields)
        except DeltaError as error:
            raise JobError(
                f"the Delta table {self.location} could not be given new columns: "
                f"{error}"
            ) from error

    def last_commit(self, job: str) -> Commit | None:
        """The job's last commit, as the table is now.

        Raises:
            PositionLost: there is one, but nothing says its offsets any more.
        """
        with self._place.telling():
            if job == self._job and (known := self._entries.last_commit()):
                return known
            if not self.exists():
                return None
            table = self._table()
            last = self._last_of(table, job)
            if last is not None and job == self._job and self._adds_entries:
                self._entries.begin(table, last)
            return last

    def recent(self, job: str, count: int) -> list[Commit]:
        """The job's last commits, among the last entries of the log."""
        if not self.exists():
            return []
        found = {
            commit.batch: commit
            for entry in self._table().history(max(count, _HISTORY[-1]))
            for commit in commits_of(entry)
            if commit.job == job
        }
        return [found[batch] for batch in sorted(found, reverse=True)[:count]]

    def _last_of(self, table: DeltaTable, job: str) -> Commit | None:
        batch = table.transaction_version(job)
        noted = CommitNote(self._place, job).read(_id_of(table), batch)
        if noted is not None and batch is not None:
            return noted
        for limit in (*_HISTORY, None):
            if batch is None and limit is None:
                break  # a new job, most likely: not worth reading the whole log
            for entry in table.history(limit):
                for commit in commits_of(entry):
                    if commit.job == job and batch in (None, commit.batch):
                        return commit
        if batch is None:
            return noted
        raise PositionLost(
            f"the log of the Delta table {self.location} no longer has the entry of "
            f"batch {batch} of the job {job!r}, which says where it ended: it was "
            "removed by a cleanup of the log. --rebuild-checkpoint finds the place "
            "again, from Spark's checkpoint and the table's rows",
            batch,
        )

    def _last_batch(self, table: DeltaTable, job: str) -> int | None:
        batch = table.transaction_version(job)
        if batch is None and (found := self._last_of(table, job)):
            return found.batch  # the identifier has expired
        return None if batch is None else int(batch)

    def staging(self, batch: int) -> StagingFolder:
        """A new folder for files of a batch, which no entry of the log names."""
        self._leftovers.begin(batch)
        return self._place.staging(DATA, staging_name(self._job, batch))

    def commit(self, commit: Commit, files: list[DataFile]) -> None:
        """Add the files: the commit point of a batch.

        Raises:
            CommitRefused: another driver of the job did it.
        """
        self._place.settle([file.path for file in files], DATA)
        with self._place.telling():
            if self._add_entry(commit, files):
                return
            table = self._table()
            before = self._last_batch(table, commit.job)
            if before is not None and before >= commit.batch:
                raise self._refused(commit)
            self._add(table, commit, files)

    def _add_entry(self, commit: Commit, files: list[DataFile]) -> bool:
        """Commit behind what is known of the table; False where that is too little."""
        try:
            return self._entries.add(commit, lambda: map(self._added, files))
        except Uncertain as uncertain:
            if not (is_there := self._has(self._table(), commit)):
                self._entries.take_back(uncertain)
            return is_there

    def _add(self, table: DeltaTable, commit: Commit, files: list[DataFile]) -> None:
        """The files become a part of the table, with the commit, in one entry."""
        self._write(table, [self._action(file) for file in files], commit)

    def _action(self, file: DataFile) -> Any:
        # It has the same fields, in the same order.
        return self._deltalake.transaction.AddAction(*self._added(file).values())

    def _added(self, file: DataFile) -> dict[str, Any]:
        """What an entry of the log says of a file."""
        status = self._place.status(file.path)
        return {
            "path": self._place.relative(file.path),
            "size": status.size,
            "partitionValues": values_of(file.partition_path),
            "modificationTime": status.changed_ms,
            "dataChange": True,
            "stats": json.dumps({"numRecords": file.row_count}),
        }

    def _write(self, table: DeltaTable, actions: list[Any], commit: Commit) -> None:
        with self._refusing(commit):
            table.create_write_transaction(
                actions=actions,
                mode="append",
                schema=table.schema(),
                partition_by=self._partitioning.names,
                commit_properties=self._properties(commit),
            )

    def _properties(self, commit: Commit) -> CommitProperties:
        """What an entry of the log says of a batch."""
        from deltalake import CommitProperties, Transaction

        return CommitProperties(
            custom_metadata={"odradek": f"[{commit.as_json()}]"},
            app_transactions=[Transaction(commit.job, commit.batch)],
        )

    @contextmanager
    def _refusing(self, commit: Commit) -> Iterator[None]:
        """What deltalake raises says whether another driver was there first.

        It may be this one's own commit, whose answer was lost: then all is well.
        """
        from deltalake.exceptions import CommitFailedError, DeltaError

        try:
            with self._place.telling():
                yield
        except (DeltaError, StoreError) as error:
            table = self._table()
            if self._has(table, commit):
                return
            before = self._last_batch(table, commit.job)
            if before is not None and before >= commit.batch:
                raise self._refused(commit) from error
            if isinstance(error, CommitFailedError):
                raise self._conflict(commit) from error
            if isinstance(error, StoreError):
                raise
            raise JobError(f"the Delta table {self.location}: {error}") from error

    def _has(self, table: DeltaTable, commit: Commit) -> bool:
        """Whether this driver's commit is there: no two stage to the same folder."""
        try:
            return bool(commit.staged) and self._last_of(table, commit.job) == commit
        except PositionLost:
            return False

    def _conflict(self, commit: Commit) -> Exception:
        """Somebody has committed something else; or a store says so by mistake."""
        if self._place.library_options is None:
            return self._refused(commit)
        return StoreAway(
            f"batch {commit.batch} was not committed to {self.location}, as something"
            " else was written there at the same moment; it is tried again"
        )

    def _refused(self, commit: Commit) -> CommitRefused:
        return CommitRefused(
            f"batch {commit.batch} of the job {commit.job!r} was committed by another "
            f"driver to {self.location}; stop one of the two"
        )

    def publish(self, commit: Commit) -> None:
        """Note where the job is, and remove what nobody can commit any more."""
        table_id = self._entries.table_id or _id_of(self._table())
        CommitNote(self._place, commit.job).write(commit, table_id)
        self._leftovers.remove(commit, self.files)
        if self._entries.is_long:
            self._sum_up()

    def _sum_up(self) -> None:
        """Let readers find the table without all of its entries."""
        from deltalake.exceptions import DeltaError

        try:
            with self._place.telling():
                self._entries.sum_up(self._table())
        except (DeltaError, StoreError) as error:
            _log.warning("%s: its log was not summed up: %s", self.location, error)

    def restore(self, commit: Commit) -> None:
        """Say again where the job is; the table has no more rows than before.

        Raises:
            CommitRefused: the table has a later batch of the job.
        """
        table = self._table()
        if table.transaction_version(commit.job) != commit.batch:
            self.commit(commit, [])
        CommitNote(self._place, commit.job).write(commit, _id_of(table), durably=True)

    def files(self) -> list[str]:
        """The paths of all files of the table as it is now."""
        return self._table().file_uris() if self.exists() else []

    def open(self, path: str) -> Any:
        """One of them, as pyarrow takes it; None if it lies somewhere else."""
        return self._place.open(path)

    def close(self) -> None:
        """Nothing is held."""


def _id_of(table: DeltaTable) -> str:
    return str(table.metadata().id)


def commits_of(entry: dict[str, Any]) -> list[Commit]:
    """The commits of jobs that an entry of the log carries."""
    text = entry.get("odradek")
    if not text:
        return []
    values = json.loads(text) if isinstance(text, str) else text
    return [read_commit(json.dumps(value)) for value in values]

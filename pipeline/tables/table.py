"""A table that jobs write to, whichever its format.

Invariants of every format: a commit shows all files of a batch or none, with the
job's `Commit`; a batch is committed once, whoever tries; the files in `staging` are
seen by no reader before. A batch's leftovers are removed only when it is committed:
before that they may be those of another driver that is about to.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from odradek.pipeline.job_errors import JobError

from .partitions.partitioning import WHOLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow

    from .commit import Commit
    from .partitions.partitioning import Partitioning
    from .places.place import Location, StagingFolder
    from .upserts.last_rows import KeyColumns

FORMATS = ("parquet", "delta", "iceberg")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:")


class DataFile(NamedTuple):
    """A Parquet file in the staging folder; ``size`` in bytes.

    ``partition_path`` names its partition; empty in a table that has none.
    """

    path: str
    row_count: int
    size: int
    partition_path: str = ""


class Table(Protocol):
    """What a committer needs of a table."""

    is_of_one_job: bool

    @property
    def location(self) -> Location:
        """Where it is, for messages."""

    def create(
        self,
        schema: pyarrow.Schema,
        *,
        evolves: bool = False,
        partitioning: Partitioning = WHOLE,
        renamed: Mapping[str, str] | None = None,
    ) -> pyarrow.Schema:
        """Make the table if there is none; returns what its new files have to be like.

        With ``evolves`` a table with other columns is changed, as far as it can be;
        ``renamed`` says which of them have another name now.

        Raises:
            JobError: there is one with another schema, another partitioning, or of
                another job.
        """

    def exists(self) -> bool:
        """Whether there is a table."""

    def last_commit(self, job: str) -> Commit | None:
        """The job's last commit, as the table is now."""

    def recent(self, job: str, count: int) -> list[Commit]:
        """The job's last commits that the table still has, the newest first."""

    def staging(self, batch: int) -> StagingFolder:
        """A new folder for files of a batch, unseen by readers."""

    def commit(self, commit: Commit, files: list[DataFile]) -> None:
        """Add the files: the commit point of a batch. They are durable before.

        Raises:
            CommitRefused: another driver of the job did it.
        """

    def publish(self, commit: Commit) -> None:
        """Finish what a committed batch has left to do; may be repeated."""

    def restore(self, commit: Commit) -> None:
        """Say again where a job is that the table has lost, without a file.

        Raises:
            CommitRefused: the table has a later batch of the job.
        """

    def files(self) -> list[str]:
        """The paths of all files that the table has now."""

    def open(self, path: str) -> Any:
        """One of them, as pyarrow takes it; None if it lies somewhere else."""

    def close(self) -> None:
        """Let others have it."""


def open_upserts(
    kind: str,
    location: str,
    job: str,
    columns: KeyColumns,
    options: Mapping[str, str] | None = None,
    store: Mapping[str, str] | None = None,
) -> Table:
    """A table that has the last row of each key.

    Raises:
        JobError, ModuleNotFoundError: as `open_table`; a format can only append.
    """
    from .places.place import open_place

    place = open_place(location, store)
    if kind == "delta":
        from .upserts.delta import DeltaUpserts

        return DeltaUpserts(place, job, columns)
    if kind == "iceberg":
        from .upserts.iceberg import IcebergUpserts

        return IcebergUpserts(place, job, options or {}, columns)
    raise JobError(
        f'[table] mode = "upsert" is for format = "delta" and "iceberg": to a {kind}'
        " table rows are only added"
    )


def open_table(
    kind: str,
    location: str,
    job: str,
    options: Mapping[str, str] | None = None,
    store: Mapping[str, str] | None = None,
) -> Table:
    """The table at a path or a URL, which need not be there yet.

    ``options`` are of a catalog, ``store`` of the store where it lies.

    Raises:
        JobError: there is no such format, or no such place.
        ModuleNotFoundError: the library of the format or of stores is not installed.
    """
    from .places.place import LocalPlace, open_place

    place = open_place(location, store)
    if kind == "delta":
        from .delta import DeltaTableOfJob

        return DeltaTableOfJob(place, job)
    if kind == "iceberg":
        from .iceberg import IcebergTableOfJob

        return IcebergTableOfJob(place, job, options or {})
    if kind == "parquet" and isinstance(place, LocalPlace):
        from .parquet import ParquetTable

        return ParquetTable(place.folder, job)
    if kind == "parquet":
        from .places.parquet_in_store import ParquetInStore
        from .places.store_place import StorePlace

        assert isinstance(place, StorePlace)
        return ParquetInStore(place, job)
    raise JobError(f"there is no table format {kind!r}; there are {', '.join(FORMATS)}")


def local_path(location: str) -> Path:
    """A path of the file system, which driver and executors share.

    Raises:
        JobError: it is a URL of something else.
    """
    if location.startswith("file:"):
        location = location.removeprefix("file://").removeprefix("file:")
    elif _SCHEME.match(location):
        raise JobError(
            f"{location}: this is written to a path of a file system that all of "
            "Spark's machines share; of stores there are s3://, gs:// and az://, for"
            " tables"
        )
    return Path(os.path.abspath(os.path.expanduser(location)))


def without_end(location: str) -> str:
    """A path or URL without slashes at its end, if it is more than these."""
    kept = location.rstrip("/")
    return location if not kept or kept.endswith(":") else kept


def check_apart(table: str, dead_letters: str) -> None:
    """Raise JobError where dead letters would lie among the rows of the table."""
    first, second = (_comparable(each) for each in (table, dead_letters))
    if first == second or second.startswith(f"{first}/"):
        raise JobError(
            f"the dead letters would be among the rows of {table}; give them a folder"
            f" beside it, like {table}-dead-letters"
        )


def _comparable(location: str) -> str:
    is_url = _SCHEME.match(location) and not location.startswith("file:")
    return without_end(location if is_url else str(local_path(location)))


def sync(path: Path | str) -> None:
    """Make a file, or the names in a folder, survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def describe(schema: pyarrow.Schema) -> list[list[str]]:
    """Names and types, to compare and to store."""
    return [[field.name, str(field.type)] for field in schema]


# A property of tables that have the last row of each key.
MODE = "odradek.mode"
UPSERT = "upsert"


def refuse_renamed(kind: str, renamed: Mapping[str, str] | None) -> None:
    """Refuse what takes ids of columns.

    Raises:
        JobError: there is something to rename.
    """
    if renamed:
        raise JobError(
            f"[table] renamed: a {kind} table knows its columns by their names, and a"
            ' new name is a new column; format = "iceberg" renames'
        )


def check_mode(location: object, there: str | None, wanted: str) -> None:
    """Refuse to mix rows that are added and rows that take the place of others.

    Raises:
        JobError: the table is of the other mode.
    """
    if (there or "") == wanted:
        return
    if wanted:
        raise JobError(
            f"the table {location} has rows that were added, and the job has mode ="
            ' "upsert", which is for a row of each key; give it a table of its own'
        )
    raise JobError(
        f'the table {location} has the last row of each key (mode = "upsert"), and the'
        " job would add to them; give it a table of its own"
    )


def check_schema(
    location: object, there: list[list[str]], wanted: list[list[str]]
) -> None:
    """Refuse to mix rows of different shapes.

    Raises:
        JobError: the schemas differ; says where.
    """
    if there == wanted:
        return
    before = {name: kind for name, kind in there}
    now = {name: kind for name, kind in wanted}
    said = [
        f"{name} {kind} is not in the job"
        for name, kind in before.items()
        if name not in now
    ]
    said += [
        f"{name} {kind} is not in the table"
        for name, kind in now.items()
        if name not in before
    ]
    said += [
        f"{name} is {before[name]} in the table and {kind} in the job"
        for name, kind in now.items()
        if before.get(name, kind) != kind
    ]
    raise JobError(
        f"the table {location} has another schema: "
        f"{'; '.join(said) or 'the columns have another order'}. Give the job a new "
        "table, or the schema of this one; [table] evolve = true lets the table follow "
        "the job"
    )

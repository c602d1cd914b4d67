"""The data files of a table, what tells them apart, and in which order they came.

Whichever the format, the rows are those of Parquet files (or of CSV or JSON files),
which Spark reads without a jar. What such a read would get wrong is refused: deleted
rows that stand in other files.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from odradek.pipeline.job_errors import JobError, JobStopped

from .column_names import former_names, rows_with_new_names
from .partitions.reading import parts_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from deltalake import DeltaTable
    from pyiceberg.table import StaticTable
    from pyiceberg.table.metadata import TableMetadata
    from pyspark.sql import DataFrame, SparkSession

    from .partitions.reading import Part

FORMATS = ("parquet", "delta", "iceberg", "json", "csv")
_OTHER_FILE_SIZE = 16 << 20  # assumed for what is not in this file system
_DIGEST_LENGTH = 32
_ENTRIES_MAX = 10_000  # of a Delta log; what came before these goes by its time


class DataFile(NamedTuple):
    """A file of a table; the time is that of its last change, in ns.

    ``commit`` counts the table's commits, as far as its format tells which of them
    brought the file: a writer may change a file early and commit it late.
    """

    changed_ns: int
    path: str
    size: int
    commit: int = 0

    @property
    def name(self) -> str:
        """What tells it from any other file: 16 characters."""
        told = hashlib.blake2b(f"{self.path}\0{self.size}".encode(), digest_size=12)
        return base64.urlsafe_b64encode(told.digest()).decode()


def in_order(files: Iterable[DataFile]) -> list[DataFile]:
    """Those that came in first before the others."""
    return sorted(files, key=lambda file: (file.commit, file))


class RowSource(Protocol):
    """A table to read, wherever it lies."""

    def files(self, spark: SparkSession) -> list[DataFile]:
        """The files of the table as it is now.

        Raises:
            JobError: there is no such table, or it cannot be read file by file.
        """

    def rows(self, spark: SparkSession, files: Sequence[DataFile]) -> DataFrame:
        """The rows of some of the files.

        Raises:
            JobError: they cannot be read.
        """


class TableSource(NamedTuple):
    """A table that Spark reads: its format, its folder, and options for that."""

    kind: str
    location: str
    options: dict[str, str]

    def files(self, spark: SparkSession) -> list[DataFile]:
        """The files of the table as it is now.

        Raises:
            JobError: there is no such table, or it cannot be read file by file.
        """
        if self.kind == "delta":
            commits = _delta_files(self.location)
        elif self.kind == "iceberg":
            commits = _iceberg_files(self.location)
        else:
            paths = self._read(spark, [self.location]).inputFiles()
            commits = dict.fromkeys(paths, 0)
        return in_order(_data_file(*each) for each in commits.items())

    def rows(self, spark: SparkSession, files: Sequence[DataFile]) -> DataFrame:
        """The rows of some of the files.

        Raises:
            JobError: they cannot be read.
        """
        paths = [file.path for file in files]
        if self.kind != "iceberg":
            return self._read(spark, paths)
        metadata = _iceberg_table(self.location).metadata
        former = former_names(self.location, metadata)
        return rows_with_new_names(self._read(spark, paths, metadata), former)

    def is_plain(self) -> bool:
        """Whether files have the table's columns as such, and Spark has no options."""
        if self.options:
            return False
        if self.kind == "iceberg":
            return len(_iceberg_table(self.location).metadata.schemas) == 1
        return self.kind in ("parquet", "delta")

    def _read(
        self,
        spark: SparkSession,
        paths: list[str],
        metadata: TableMetadata | None = None,
    ) -> DataFrame:
        frames = [
            self._read_part(spark, part)
            for part in parts_of(self.kind, self.location, paths, metadata)
        ]
        if len(frames) == 1:
            return frames[0]
        first, *others = frames
        for other in others:
            first = first.unionByName(other, allowMissingColumns=True)
        return first

    def _read_part(self, spark: SparkSession, part: Part) -> DataFrame:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        reader = spark.read.format(self.kind if self.kind in _PLAIN else "parquet")
        options: dict[str, Any] = dict(_USUAL_OPTIONS.get(self.kind, {}))
        if self.kind in _PARTITIONED:
            options["basePath"] = self.location
        options |= self.options
        if part.schema is not None:
            reader = reader.schema(part.schema)
        try:
            return reader.options(**options).load(part.paths)
        except (PySparkException, Py4JJavaError) as error:
            raise JobError(f"{self.location} cannot be read: {_why(error)}") from error


def _why(error: Exception) -> str:
    """One line of what Spark says, and what helps where it has no such store."""
    text = str(error)
    if lacking := _NO_STORE.search(text):
        return (
            f"Spark has no {lacking[1] or lacking[2]}; it needs the jars of that store,"
            " like --conf spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION for"
            " s3a, in the version of Spark's own hadoop-client"
        )
    lines = [line.strip().removeprefix(": ") for line in text.splitlines()]
    if lines[0].startswith("An error occurred while calling"):
        lines = lines[1:]
    return next((line for line in lines if line), "Spark does not say why")


_NO_STORE = re.compile(
    r"Class ([\w.$]+FileSystem\w*) not found|No FileSystem for scheme \"(\w+)\""
)
_PLAIN = ("parquet", "json", "csv")
_PARTITIONED = ("parquet", "delta", "json", "csv")
# A table may have got columns that its older files have not.
_MERGED = {"mergeSchema": "true"}
_USUAL_OPTIONS = {
    "csv": {"header": "true", "inferSchema": "true"},
    **dict.fromkeys(("parquet", "delta", "iceberg"), _MERGED),
}


def digest(files: Iterable[DataFile]) -> str:
    """What tells these files, in this order, from any others."""
    hashed = hashlib.sha256()
    for file in files:
        hashed.update(f"{file.path}\0{file.size}\0".encode())
    return hashed.hexdigest()[:_DIGEST_LENGTH]


NAMED = "named"


class Position(NamedTuple):
    """How many files of a table have been loaded, and which.

    They are `NAMED` in the notes of the job; of what an earlier version has loaded,
    there is a digest.
    """

    files_count: int
    digest: str

    @classmethod
    def parse(cls, note: str) -> Position:
        """What the last batch noted; nothing was loaded before the first."""
        count, _, digest = note.partition(":")
        return cls(int(count), digest) if count.isdigit() else cls(0, "")

    def __str__(self) -> str:
        return f"{self.files_count}:{self.digest}"

    def loaded(self, files: Iterable[DataFile]) -> Sequence[DataFile]:
        """The files that an earlier version has loaded: those that changed first.

        Raises:
            JobStopped: they are not the first any more.
        """
        first = sorted(files)[: self.files_count]
        if digest(first) != self.digest:
            raise _changed(self.files_count)
        return first


def check_present(names: Collection[str], files: Iterable[DataFile]) -> None:
    """Raise JobStopped where a file that was loaded is not there as it was."""
    if gone := len(set(names) - {file.name for file in files}):
        raise _changed(gone)


def _changed(count: int) -> JobStopped:
    return JobStopped(
        f"{count} loaded files of this table are no longer there as they were: they"
        " were compacted, rewritten or deleted. What is new cannot be told from what"
        " was loaded; load it under another --job, into a new topic"
    )


def batches(files: Sequence[DataFile], size_max: int) -> Iterable[tuple[DataFile, ...]]:
    """Groups of files, in their order, of about ``size_max`` bytes each."""
    group: list[DataFile] = []
    size = 0
    for file in files:
        if group and size + file.size > size_max:
            yield tuple(group)
            group, size = [], 0
        group.append(file)
        size += file.size
    if group:
        yield tuple(group)


def _data_file(path: str, commit: int) -> DataFile:
    split = urlsplit(path)
    if split.scheme not in ("", "file"):
        return DataFile(0, path, _OTHER_FILE_SIZE, commit)
    local = unquote(split.path) if split.scheme else path
    status = os.stat(local)
    return DataFile(status.st_mtime_ns, local, status.st_size, commit)


def _delta_files(location: str) -> dict[str, int]:
    """The files of the table, with the versions that brought them; 0 for old ones."""
    import deltalake
    import pyarrow as pa
    from deltalake.exceptions import TableNotFoundError

    try:
        table = deltalake.DeltaTable(location)
    except TableNotFoundError as error:
        raise JobError(f"{location} is not a Delta table") from error
    check_features(location, table)
    if urlsplit(location).scheme:
        return dict.fromkeys(table.file_uris(), 0)
    added = pa.table(table.get_add_actions()).column("path").to_pylist()
    versions = _delta_versions(Path(location) / "_delta_log")
    # Not `file_uris`: it escapes the folder of the table, and not what is in it.
    return {
        path if urlsplit(path).scheme else str(Path(location, unquote(path))): (
            versions.get(unquote(path), 0)
        )
        for path in added
    }


def check_features(location: str, table: DeltaTable) -> None:
    """Refuse a Delta table whose files do not say all.

    Raises:
        JobError: says what it needs.
    """
    features = set(table.protocol().reader_features or ())
    if strange := sorted(features - _KNOWN_FEATURES):
        raise JobError(
            f"the Delta table {location} needs {', '.join(strange)}, which a read of"
            " its files would get wrong; write a plain copy of it, and load that"
        )


_KNOWN_FEATURES = {"timestampNtz", "vacuumProtocolCheck", "v2Checkpoint"}


def _delta_versions(log: Path) -> dict[str, int]:
    """Which version added each file, by the newest entries that are there."""
    versions = {}
    entries = sorted(path for path in log.glob("*.json") if path.stem.isdecimal())
    for entry in entries[-_ENTRIES_MAX:]:
        for line in entry.read_text().splitlines():
            if '"add"' in line and (added := json.loads(line).get("add")):
                versions[unquote(added["path"])] = int(entry.stem)
    return versions


def _iceberg_metadata(location: str) -> Path:
    """The newest state, by the number in its name: a copy has other times.

    Of several with a number, commits that came to nothing have left all but one.
    """
    folder = Path(location) / "metadata"
    hint = ""
    with suppress(FileNotFoundError):
        hint = (folder / "version-hint.text").read_text().strip()

    def order(path: Path) -> tuple[int, bool, int]:
        return *state_order(path.name, hint), path.stat().st_mtime_ns

    found = max(folder.glob("*.metadata.json"), key=order, default=None)
    if found is None:
        raise JobError(f"{location} is not an Iceberg table")
    return found


def state_order(name: str, hint: str) -> tuple[int, bool]:
    """By which the newest state of an Iceberg table is the last."""
    number = _NUMBER.match(name)
    is_hinted = name.removesuffix(".metadata.json") == hint
    return int(number[1]) if number else -1, is_hinted


_NUMBER = re.compile(r"v?(\d+)")


def _iceberg_table(location: str) -> StaticTable:
    from pyiceberg.table import StaticTable

    return StaticTable.from_metadata(str(_iceberg_metadata(location)))


def _iceberg_files(location: str) -> dict[str, int]:
    """The files of the table, with the sequence numbers of their rows."""
    found = iceberg_entries(location, _iceberg_table(location))
    return {path: number for path, number, _ in found}


def iceberg_entries(
    location: str, table: StaticTable
) -> Iterator[tuple[str, int, int]]:
    """The files of a table: path, sequence number of its rows, size in bytes.

    Raises:
        JobError: rows are deleted in other files.
    """
    snapshot = table.current_snapshot()
    numbers = {
        entry.data_file.file_path: entry.sequence_number or 0
        for manifest in (snapshot.manifests(table.io) if snapshot else ())
        for entry in manifest.fetch_manifest_entry(table.io)
    }
    for task in table.scan().plan_files():
        if task.delete_files:
            raise JobError(
                f"the Iceberg table {location} has rows that are deleted in other"
                " files; rewrite its data files, then load it"
            )
        path = task.file.file_path
        yield path, numbers.get(path, 0), task.file.file_size_in_bytes

"""The data files of a table, in an order in which new ones come last.

Whichever the format, the rows are those of Parquet files (or of CSV or JSON files),
which Spark reads without a jar. What such a read would get wrong is refused: deleted
rows that stand in other files.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from .job_errors import JobError, JobStopped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession

FORMATS = ("parquet", "delta", "iceberg", "json", "csv")
_OTHER_FILE_SIZE = 16 << 20  # assumed for what is not in this file system
_DIGEST_LENGTH = 32


class DataFile(NamedTuple):
    """A file of a table; the time is that of its last change, in ns."""

    changed_ns: int
    path: str
    size: int


class TableSource(NamedTuple):
    """A table to read: its format, its folder, and options of Spark's reader."""

    kind: str
    location: str
    options: dict[str, str]

    def files(self, spark: SparkSession) -> list[DataFile]:
        """The files of the table as it is now.

        Raises:
            JobError: there is no such table, or it cannot be read file by file.
        """
        if self.kind == "delta":
            paths = _delta_files(self.location)
        elif self.kind == "iceberg":
            paths = _iceberg_files(self.location)
        else:
            paths = list(self._read(spark, [self.location]).inputFiles())
        return sorted(map(_data_file, paths))

    def rows(self, spark: SparkSession, files: Sequence[DataFile]) -> DataFrame:
        """The rows of some of the files."""
        return self._read(spark, [file.path for file in files])

    def _read(self, spark: SparkSession, paths: list[str]) -> DataFrame:
        from pyspark.errors import AnalysisException

        reader = spark.read.format(self.kind if self.kind in _PLAIN else "parquet")
        options: dict[str, Any] = dict(_USUAL_OPTIONS.get(self.kind, {}))
        if self.kind in _PARTITIONED:
            options["basePath"] = self.location
        options |= self.options
        try:
            return reader.options(**options).load(paths)
        except AnalysisException as error:
            first = str(error).splitlines()[0]
            raise JobError(f"{self.location} cannot be read: {first}") from error


_PLAIN = ("parquet", "json", "csv")
_PARTITIONED = ("parquet", "delta", "json", "csv")
_USUAL_OPTIONS = {"csv": {"header": "true", "inferSchema": "true"}}


def digest(files: Iterable[DataFile]) -> str:
    """What tells these files, in this order, from any others."""
    hashed = hashlib.sha256()
    for file in files:
        hashed.update(f"{file.path}\0{file.size}\0".encode())
    return hashed.hexdigest()[:_DIGEST_LENGTH]


class Position(NamedTuple):
    """How many files of a table have been loaded, and which."""

    files_count: int
    digest: str

    @classmethod
    def parse(cls, note: str) -> Position:
        """What the last batch noted; nothing was loaded before the first."""
        count, _, digest = note.partition(":")
        return cls(int(count), digest) if count.isdigit() else cls(0, "")

    def __str__(self) -> str:
        return f"{self.files_count}:{self.digest}"

    def rest(self, files: Sequence[DataFile]) -> Sequence[DataFile]:
        """The files that are not loaded yet.

        Raises:
            JobStopped: those that are loaded are not the first any more.
        """
        if self.files_count and digest(files[: self.files_count]) != self.digest:
            raise JobStopped(
                f"{self.files_count} loaded files of this table are not there any more"
                " as they were: they were compacted, rewritten or deleted. What is new"
                " cannot be told from what was loaded; load it under another --job"
            )
        return files[self.files_count :]


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


def _data_file(path: str) -> DataFile:
    split = urlsplit(path)
    if split.scheme not in ("", "file"):
        return DataFile(0, path, _OTHER_FILE_SIZE)
    local = unquote(split.path) if split.scheme else path
    status = os.stat(local)
    return DataFile(status.st_mtime_ns, local, status.st_size)


def _delta_files(location: str) -> list[str]:
    import deltalake
    from deltalake.exceptions import TableNotFoundError

    try:
        table = deltalake.DeltaTable(location)
    except TableNotFoundError as error:
        raise JobError(f"{location} is no Delta table") from error
    features = set(table.protocol().reader_features or ())
    if strange := sorted(features - _KNOWN_FEATURES):
        raise JobError(
            f"the Delta table {location} needs {', '.join(strange)}, which a read of"
            " its files would get wrong; write a plain copy of it, and load that"
        )
    return table.file_uris()


_KNOWN_FEATURES = {"timestampNtz", "vacuumProtocolCheck", "v2Checkpoint"}


def _iceberg_files(location: str) -> list[str]:
    from pyiceberg.table import StaticTable

    metadata = Path(location) / "metadata"
    versions = sorted(metadata.glob("*.metadata.json"), key=lambda p: p.stat().st_mtime)
    if not versions:
        raise JobError(f"{location} is no Iceberg table")
    table = StaticTable.from_metadata(str(versions[-1]))
    found = []
    for task in table.scan().plan_files():
        if task.delete_files:
            raise JobError(
                f"the Iceberg table {location} has rows that are deleted in other"
                " files; rewrite its data files, then load it"
            )
        found.append(task.file.file_path)
    return found

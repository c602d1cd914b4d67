"""A table in a store, to be read: its files, and which columns they have.

Spark needs no file system of the store for it, and no jar: tasks read the objects by
themselves (`stored_rows`), found and authorized as all else that lies in stores.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from odradek.objects.errors import NoSuchObject
from odradek.pipeline.job_errors import JobError
from odradek.pipeline.tables.column_names import former_names
from odradek.pipeline.tables.evolution import unified
from odradek.pipeline.tables.files import (
    DataFile,
    check_features,
    iceberg_entries,
    in_order,
    state_order,
)
from odradek.pipeline.tables.parquet import LOG
from odradek.pipeline.tables.parquet_note import noted_partitioning, noted_schema
from odradek.pipeline.tables.partitions.partition_path import is_shown, values_of
from odradek.pipeline.tables.partitions.partitioning import read_partitioning

from .catalogs import file_io_properties
from .store_place import StoreFolder, StorePlace, open_store_place
from .stored_rows import StoredRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow
    from deltalake import DeltaTable
    from pyiceberg.table import StaticTable
    from pyspark.sql import DataFrame, SparkSession

KINDS = ("parquet", "delta", "iceberg")
_METADATA = ".metadata.json"


@dataclass(frozen=True)
class StoredTable:
    """A table of one of `KINDS`, with the options of its store."""

    kind: str
    location: str
    store: Mapping[str, str] = field(default_factory=dict)

    def files(self, spark: SparkSession) -> list[DataFile]:
        """The files of the table as it is now.

        Raises:
            JobError: there is no such table, or it cannot be read file by file.
        """
        place = open_store_place(self.location, self.store)
        with place.telling():
            if self.kind == "delta":
                return in_order(_delta_files(place, self._delta(place)))
            if self.kind == "iceberg":
                found = iceberg_entries(self.location, self._iceberg(place))
                return in_order(DataFile(0, path, size, n) for path, n, size in found)
            return in_order(self._parquet_files(place))

    def rows(self, spark: SparkSession, files: Sequence[DataFile]) -> DataFrame:
        """The rows of some of the files.

        Raises:
            JobError: they cannot be read.
        """
        from pyspark.errors import PySparkTypeError
        from pyspark.sql.pandas.types import from_arrow_schema

        place = open_store_place(self.location, self.store)
        paths = tuple(file.path for file in files)
        names: Mapping[str, str] = {}
        with place.telling():
            if self.kind == "iceberg":
                schema, names = self._iceberg_columns(place)
            elif self.kind == "delta":
                schema = _arrow(self._delta(place))
            else:
                schema = self._parquet_columns(place, paths)
        schema = _as_spark_has(schema)
        options = tuple(sorted(place.settings.for_tasks().items()))
        packed = schema.serialize().to_pybytes()
        folder = StoreFolder(place.folder, options)
        task = StoredRows(folder, paths, packed, tuple(names.items()))
        try:
            columns = from_arrow_schema(schema)
        except PySparkTypeError as error:
            raise JobError(f"{self.location} cannot be read: {error}") from None
        count = len(paths)
        return spark.range(0, count, 1, count).mapInArrow(task, columns)

    def _delta(self, place: StorePlace) -> DeltaTable:
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        try:
            table = DeltaTable(self.location, storage_options=place.library_options)
        except TableNotFoundError:
            raise JobError(f"{self.location} is not a Delta table") from None
        check_features(self.location, table)
        return table

    def _iceberg(self, place: StorePlace) -> StaticTable:
        from pyiceberg.table import StaticTable

        folder = place.folder.child("metadata")
        objects, _ = place.store.list_folder(folder.path)
        names = [each.name.rpartition("/")[2] for each in objects]
        try:
            hint = place.read("metadata", "version-hint.text").strip()
        except NoSuchObject:
            hint = ""
        states = [name for name in names if name.endswith(_METADATA)]
        if not states:
            raise JobError(f"{self.location} is not an Iceberg table")
        newest = max(states, key=lambda name: state_order(name, hint))
        properties = file_io_properties(self.store)
        return StaticTable.from_metadata(str(folder.child(newest)), properties)

    def _iceberg_columns(
        self, place: StorePlace
    ) -> tuple[pyarrow.Schema, Mapping[str, str]]:
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        metadata = self._iceberg(place).metadata
        schema = schema_to_pyarrow(metadata.schema(), include_field_ids=False)
        return schema, former_names(self.location, metadata)

    def _parquet_files(self, place: StorePlace) -> list[DataFile]:
        folder, found = place.folder, []
        for each in place.store.list_all(folder.path):
            inside = each.name.removeprefix(f"{folder.path}/")
            if is_shown(inside) and inside[0] not in "_.":
                path = f"{folder}/{inside}"
                found.append(DataFile(int(each.changed_s * 1e9), path, each.size))
        if not found and not self._note(place):
            raise JobError(f"{self.location} has no Parquet files")
        return found

    def _note(self, place: StorePlace) -> dict[str, object]:
        """What a table of ours says of itself; nothing of any other."""
        import json

        try:
            note: dict[str, object] = json.loads(place.read(LOG, "table.json"))
        except NoSuchObject:
            return {}
        return note

    def _parquet_columns(
        self, place: StorePlace, paths: Sequence[str]
    ) -> pyarrow.Schema:
        """Those of the table, if it is of ours; else those of the files and folders."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        note = self._note(place)
        if (noted := noted_schema(note, ()) if note else None) is not None:
            fields = noted_partitioning(note)
            return read_partitioning("", fields, "parquet").with_made(noted)
        found = [pq.read_schema(place.open(path)) for path in paths]
        schema = unified(self.location, found).remove_metadata()
        for name in {name: None for path in paths for name in values_of(path)}:
            if name not in schema.names:
                schema = schema.append(pa.field(name, pa.string()))
        return schema


def _arrow(table: DeltaTable) -> pyarrow.Schema:
    import pyarrow as pa

    return pa.schema(table.schema())


def _delta_files(place: StorePlace, table: DeltaTable) -> Iterable[DataFile]:
    from urllib.parse import unquote, urlsplit

    import pyarrow as pa

    actions = pa.table(table.get_add_actions())
    names = ("path", "size_bytes", "modification_time")
    for path, size, changed in zip(
        *(actions.column(name) for name in names), strict=True
    ):
        text = path.as_py()
        if not urlsplit(text).scheme:
            text = f"{place.folder}/{unquote(text)}"
        changed_ms = changed.cast(pa.timestamp("ms")).cast(pa.int64()).as_py()
        yield DataFile(changed_ms * 1_000_000, text, size.as_py())


def _as_spark_has(schema: pyarrow.Schema) -> pyarrow.Schema:
    """Spark's times have microseconds, and its texts are of one kind."""
    import pyarrow as pa

    fields = []
    for each in schema.remove_metadata():
        kind = each.type
        if pa.types.is_timestamp(kind):
            kind = pa.timestamp("us", kind.tz)
        fields.append(pa.field(each.name, kind))
    return pa.schema(fields)

"""Tables in stores, for tests: a place, a catalog, and what is in the tables."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from odradek.pipeline.tables.places.place import open_place
from odradek.pipeline.tables.table import open_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from odradek.pipeline.tables.table import Table
    from tests.fakes.stored_objects import ObjectServer

URL = "s3://lake/jobs"


def catalog(kind: str, folder: Path) -> dict[str, str]:
    """A catalog of Iceberg in a file of this machine; nothing for other formats."""
    if kind != "iceberg":
        return {}
    return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db"}


def table_at(kind: str, job: str, folder: Path, name: str = "rows") -> Table:
    return open_table(kind, f"{URL}/{name}", job, catalog(kind, folder))


def rows_in(
    server: ObjectServer,
    kind: str,
    column: str,
    folder: Path,
    name: str = "rows",
    key: Callable[[Any], Any] | None = None,
) -> list[Any]:
    """The values of a column, in order; nothing when there is no table."""
    if kind == "parquet":
        found = _of_parquet(server, f"jobs/{name}/", column)
    elif kind == "delta":
        found = _of_delta(f"{URL}/{name}", column)
    else:
        found = _of_iceberg(column, folder, name)
    return sorted(found, key=key)


def _of_parquet(server: ObjectServer, prefix: str, column: str) -> list[Any]:
    """As any reader does: what lies in the folder and is not hidden."""
    found: list[Any] = []
    for path in server.names(prefix):
        name = path.removeprefix(prefix)
        if "/" in name or name[0] in "_.":
            continue
        found += pq.read_table(io.BytesIO(server.content(path)))[column].to_pylist()
    return found


def _of_delta(url: str, column: str) -> list[Any]:
    from deltalake import DeltaTable
    from deltalake.exceptions import TableNotFoundError

    options = open_place(url).library_options
    try:
        table = DeltaTable(url, storage_options=options)
    except TableNotFoundError:
        return []
    return list(table.to_pyarrow_table()[column].to_pylist())


def _of_iceberg(column: str, folder: Path, name: str) -> list[Any]:
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NoSuchTableError

    io_properties = {
        "py-io-impl": "odradek.pipeline.tables.places.file_io.ObjectsFileIO"
    }
    given = catalog("iceberg", folder) | io_properties
    found = load_catalog("odradek", **given)
    try:
        table = found.load_table(f"odradek.{name}")
        return list(table.scan().to_arrow()[column].to_pylist())
    except NoSuchTableError:
        return []
    finally:
        found.close()

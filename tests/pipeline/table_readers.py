"""Tables read by what their users have: DuckDB, pandas, and the format's own reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd

if TYPE_CHECKING:
    from pathlib import Path

READERS = {
    "parquet": ("duckdb", "pandas"),
    "delta": ("deltalake", "duckdb-delta", "pandas-delta"),
    "iceberg": ("pyiceberg", "duckdb-iceberg", "pandas-iceberg"),
}

# What there is as soon as there is a table with rows.
_SIGNS = {
    "parquet": "*.parquet",
    "delta": "_delta_log/*.json",
    "iceberg": "metadata/version-hint.text",
}


def rows_of(reader: str, location: Path, column: str) -> list[Any]:
    """The values of a column, in order; nothing when there is no table."""
    kind = next(kind for kind, readers in READERS.items() if reader in readers)
    if not list(location.glob(_SIGNS[kind])):
        return []
    return sorted(_READ[reader](location, column))


def _duckdb(location: Path, column: str) -> list[Any]:
    return _query(f"SELECT \"{column}\" FROM '{location}/*.parquet'")


def _query(text: str, **tables: Any) -> list[Any]:
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        return [row[0] for row in connection.execute(text).fetchall()]


def _pandas(location: Path, column: str) -> list[Any]:
    return list(pd.read_parquet(location)[column])


def _deltalake(location: Path, column: str) -> list[Any]:
    from deltalake import DeltaTable

    return DeltaTable(location).to_pyarrow_table()[column].to_pylist()


def _duckdb_delta(location: Path, column: str) -> list[Any]:
    from deltalake import DeltaTable

    data = DeltaTable(location).to_pyarrow_dataset()
    return _query(f'SELECT "{column}" FROM t', t=data)


def _pandas_delta(location: Path, column: str) -> list[Any]:
    from deltalake import DeltaTable

    return list(DeltaTable(location).to_pandas()[column])


def _iceberg(location: Path) -> Any:
    from pyiceberg.table import StaticTable

    return StaticTable.from_metadata(str(location))


def _pyiceberg(location: Path, column: str) -> list[Any]:
    return _iceberg(location).scan().to_arrow()[column].to_pylist()


def _duckdb_iceberg(location: Path, column: str) -> list[Any]:
    return _query(f'SELECT "{column}" FROM t', t=_iceberg(location).scan().to_arrow())


def _pandas_iceberg(location: Path, column: str) -> list[Any]:
    return list(_iceberg(location).scan().to_pandas()[column])


_READ = {
    "duckdb": _duckdb,
    "pandas": _pandas,
    "deltalake": _deltalake,
    "duckdb-delta": _duckdb_delta,
    "pandas-delta": _pandas_delta,
    "pyiceberg": _pyiceberg,
    "duckdb-iceberg": _duckdb_iceberg,
    "pandas-iceberg": _pandas_iceberg,
}

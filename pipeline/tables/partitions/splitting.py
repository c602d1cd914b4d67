"""Rows are divided among the partitions of their table, in the order they came."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .partition_path import is_too_long, partition_path
from .partitioning import made_field

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow

    from .partitioning import PartitionField, Partitioning

_NUMBER = "__number"
_FORMATS = {"months": "%Y-%m", "hours": "%Y-%m-%d-%H"}
# Years with four digits, which all formats and readers write alike.
_FIRST_S, _END_S = -62_135_596_800, 253_402_300_800
_PER_S = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY_S = 86_400
_ESCAPE_SIZE = 3


def split(
    partitioning: Partitioning, rows: pyarrow.Table
) -> Iterator[tuple[str, pyarrow.Table]]:
    """Paths of partitions, and their rows, as the table's files have them."""
    import pyarrow as pa

    keys = {
        field.name: _texts(_made(field, rows.column(field.column)), partitioning.kind)
        for field in partitioning.fields
    }
    numbers = pa.array(range(len(rows)), pa.int64())
    numbered = pa.table({**keys, _NUMBER: numbers})
    found = numbered.group_by(list(keys), use_threads=False).aggregate(
        [(_NUMBER, "list")]
    )
    laid = laid_out(partitioning, rows)
    for group in range(len(found)):
        values = [(name, found.column(name)[group].as_py()) for name in keys]
        chosen = found.column(f"{_NUMBER}_list")[group].values
        whole = len(chosen) == len(rows)
        yield partition_path(values), laid if whole else laid.take(chosen)


def laid_out(partitioning: Partitioning, rows: pyarrow.Table) -> pyarrow.Table:
    """The rows as files of the table's format have them."""
    if partitioning.kind == "parquet":
        kept = [name for name in rows.column_names if name not in partitioning.names]
        return rows.select(kept)
    if partitioning.kind == "delta":
        for field in partitioning.made:
            made, kind = _made(field, rows.column(field.column)), made_field(field)
            place = rows.schema.get_field_index(field.name)
            if place >= 0:
                rows = rows.set_column(place, kind, made)
            else:
                rows = rows.append_column(kind, made)
    return rows


def strange(
    partitioning: Partitioning, rows: pyarrow.RecordBatch | pyarrow.Table
) -> str:
    """Why a row is of no partition that could be named; empty where all are."""
    import pyarrow as pa

    for field in partitioning.fields:
        column = rows.column(field.column)
        if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
            reason = _out_of_years(field, column)
        elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            reason = _too_long(field, column)
        else:
            continue
        if reason:
            return reason
    return ""


def _out_of_years(field: PartitionField, column: pyarrow.Array) -> str:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_date(column.type):
        ticks, unit = column.cast(pa.int32()).cast(pa.int64()), 1
        first, end = _FIRST_S // _DAY_S, _END_S // _DAY_S
    else:
        ticks, unit = column.cast(pa.int64()), _PER_S[column.type.unit]
        first, end = _FIRST_S * unit, _END_S * unit
    found = pc.min_max(ticks).as_py()
    if found["min"] is None or first <= found["min"] <= found["max"] < end:
        return ""
    return f"{field.column}, which divides the table, is not in the years 1 to 9999"


def _too_long(field: PartitionField, column: pyarrow.Array) -> str:
    import pyarrow.compute as pc

    longest = pc.max(pc.binary_length(column)).as_py() or 0
    if not is_too_long(field.name, "x" * longest * _ESCAPE_SIZE):
        return ""
    for text in pc.unique(column).to_pylist():
        if text is not None and is_too_long(field.name, text):
            return (
                f"{field.column}, which divides the table, has {len(text.encode())}"
                " bytes; a folder cannot be called so"
            )
    return ""


def _made(field: PartitionField, column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    """What divides, of the values of a column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not field.transform:
        return column
    if pa.types.is_date(column.type):
        times = column.cast(pa.timestamp("s"))
    else:  # without its zone, which is UTC, and would be looked up
        times = column.cast(pa.int64()).cast(pa.timestamp(column.type.unit))
    if field.transform == "days":
        return times.cast(pa.date32())
    if field.transform == "years":
        return pc.year(times).cast(pa.int32())
    return pc.strftime(times, format=_FORMATS[field.transform]).cast(pa.string())


def _texts(column: pyarrow.ChunkedArray, kind: str) -> pyarrow.ChunkedArray:
    """Values as names have them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = column.cast(pa.string())
    if kind == "iceberg":
        return texts
    # Neither folders nor the log of a Delta table know an empty text from none.
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)

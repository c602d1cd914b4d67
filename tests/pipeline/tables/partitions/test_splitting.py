"""Rows find their partitions, in order, and none is lost."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.pipeline.tables.partitions.partition_path import values_of
from odradek.pipeline.tables.partitions.partitioning import read_partitioning
from odradek.pipeline.tables.partitions.splitting import laid_out, split, strange

SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        ("good", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("n", pa.int64()),
    ]
)
MOMENT = datetime(2026, 1, 31, 23, 59, 59, 999_999, UTC)
BEFORE = datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC)


def rows(*given: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([{"n": n, **r} for n, r in enumerate(given)], SCHEMA)


def partitions(kind: str, table: pa.Table, *by: str) -> dict[str, list[int]]:
    parts = split(read_partitioning("", by, kind), table)
    return {path: part["n"].to_pylist() for path, part in parts}


@pytest.mark.parametrize("kind", ["parquet", "delta", "iceberg"])
def test_rows_keep_their_order(kind: str) -> None:
    table = rows({"kind": "a"}, {"kind": "b"}, {"kind": "a"}, {}, {"kind": "b"})
    assert partitions(kind, table, "kind") == {
        "kind=a": [0, 2],
        "kind=b": [1, 4],
        "kind=__HIVE_DEFAULT_PARTITION__": [3],
    }


def test_an_empty_text_is_none_where_names_do_not_tell_it() -> None:
    table = rows({"kind": ""}, {})
    assert len(partitions("parquet", table, "kind")) == 1
    assert len(partitions("delta", table, "kind")) == 1
    assert len(partitions("iceberg", table, "kind")) == 2


@pytest.mark.parametrize(
    ("by", "first", "second"),
    [
        ("years(at)", "at_year=2026", "at_year=1969"),
        ("months(at)", "at_month=2026-01", "at_month=1969-12"),
        ("days(at)", "at_day=2026-01-31", "at_day=1969-12-31"),
        ("hours(at)", "at_hour=2026-01-31-23", "at_hour=1969-12-31-23"),
        ("days(day)", "day_day=2026-01-31", "day_day=1969-12-31"),
        ("day", "day=2026-01-31", "day=1969-12-31"),
    ],
)
def test_times(by: str, first: str, second: str) -> None:
    table = rows(
        {"at": MOMENT, "day": MOMENT.date()}, {"at": BEFORE, "day": BEFORE.date()}
    )
    assert partitions("delta", table, by) == {first: [0], second: [1]}


def test_columns_of_the_files() -> None:
    table = rows({"kind": "a", "at": MOMENT, "good": True})
    by = ("kind", "good", "days(at)")
    (parquet,) = split(read_partitioning("", by, "parquet"), table)
    assert parquet[0] == "kind=a/good=true/at_day=2026-01-31"
    assert parquet[1].column_names == ["day", "at", "n"]
    (delta,) = split(read_partitioning("", by, "delta"), table)
    assert delta[1].column_names == [*SCHEMA.names, "at_day"]
    assert delta[1]["at_day"].to_pylist() == [date(2026, 1, 31)]
    (iceberg,) = split(read_partitioning("", by, "iceberg"), table)
    assert iceberg[1].schema == SCHEMA


def test_what_was_null_is_made() -> None:
    """Rows that were given the columns of a table that follows its job."""
    partitioning = read_partitioning("", ["days(at)"], "delta")
    table = rows({"at": MOMENT})
    empty = table.append_column("at_day", pa.nulls(1, pa.date32()))
    assert laid_out(partitioning, empty)["at_day"].to_pylist() == [date(2026, 1, 31)]


def test_what_has_no_place() -> None:
    partitioning = read_partitioning("", ["kind", "hours(at)"], "delta")
    assert not strange(partitioning, rows({"kind": "x" * 200, "at": MOMENT}, {}))
    assert "has 300 bytes" in strange(partitioning, rows({}, {"kind": "x" * 300}))
    assert "has 300 bytes" in strange(partitioning, rows({"kind": "ä" * 150}))
    far = pa.array([2**62], pa.int64()).cast(pa.timestamp("us", "UTC"))
    table = rows({}).set_column(3, SCHEMA.field(3), far)
    assert "at, which divides the table" in strange(partitioning, table)
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert not strange(partitioning, rows({"at": last}))


KINDS = st.none() | st.sampled_from(["a", "b", "", "ä/", "c=d", "%41"])
TIMES = st.none() | st.integers(-(10**6), 10**6).map(
    lambda hours: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=hours)
)


@given(st.lists(st.tuples(KINDS, TIMES), min_size=1, max_size=30))
def test_each_row_is_in_one_part(given: list[tuple[str | None, datetime]]) -> None:
    table = rows(*({"kind": kind, "at": at} for kind, at in given))
    partitioning = read_partitioning("", ["kind", "days(at)"], "iceberg")
    found = []
    for path, part in split(partitioning, table):
        values = values_of(path)
        for row in part.to_pylist():
            day = row["at"] and row["at"].date().isoformat()
            assert (row["kind"], day) == (values["kind"], values["at_day"])
            found.append(row["n"])
    assert sorted(found) == list(range(len(given)))

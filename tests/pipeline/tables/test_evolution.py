"""Tables whose jobs have got other columns, as all their readers see them."""

import uuid
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.jobs.job_committer import Written
from odradek.pipeline.tables.compaction.compaction import compact
from odradek.pipeline.tables.evolution import aligned, evolution, is_wider, unified
from odradek.pipeline.tables.table import FORMATS, DataFile, open_table
from tests.pipeline import table_readers
from tests.pipeline.fake_job import JOB, PLACE, driver, range_of
from tests.pipeline.table_readers import READERS, rows_of

HERE = Path("t")
FIRST = pa.schema([("id", pa.int32()), ("text", pa.string())])
PRICED = pa.schema([*FIRST, ("price", pa.float64())])
LONG = pa.schema([("id", pa.int64()), ("price", pa.float64())])


def append(
    kind: str, folder: Path, schema: pa.Schema, batch: int, *, evolves: bool = True
) -> None:
    """A batch of two rows by a job with these columns: ids 2n, 2n + 1; price = id."""
    table = open_table(kind, str(folder), JOB)
    try:
        files = table.create(schema, evolves=evolves)
        ids = [2 * batch, 2 * batch + 1]
        made = {"id": ids, "text": [f"t{n}" for n in ids], "price": map(float, ids)}
        columns = {name: list(made[name]) for name in schema.names}
        rows = aligned(pa.table(columns, schema=schema), files)

        def write(staging: Path, _: Path | None) -> Written:
            path = staging / f"{uuid.uuid4().hex}.parquet"
            pq.write_table(rows, path)
            file = DataFile(str(path), 2, path.stat().st_size)
            return Written([file], [], 2, 0, {PLACE: (2 * batch, 2 * batch + 1)})

        driver(table).run(batch, range_of(batch, 2), write)
    finally:
        table.close()


def column(kind: str, folder: Path, name: str) -> list[list[Any]]:
    """As each reader has it; of a folder DuckDB is told to look at every file."""
    if kind == "parquet":
        files = f"read_parquet('{folder}/*.parquet', union_by_name = true)"
        with duckdb.connect() as connection:
            found = connection.execute(f"SELECT {name} FROM {files} ORDER BY id")
            return [[row[0] for row in found.fetchall()]]
    return [table_readers._READ[each](folder, name) for each in READERS[kind]]


def nulls_last(values: list[Any]) -> list[Any]:
    """Sorted; pandas has nulls as values that differ from themselves."""
    filled = sorted(each for each in values if each is not None and each == each)
    return [*filled, *([None] * (len(values) - len(filled)))]


@pytest.mark.parametrize("kind", FORMATS)
def test_columns_come_and_go(kind: str, tmp_path: Path) -> None:
    table = tmp_path / "t"
    append(kind, table, FIRST, 0)
    append(kind, table, PRICED, 1)
    append(kind, table, PRICED.remove(1), 2)  # no text any more
    append(kind, table, FIRST, 3)  # and as it was
    prices = [None, None, 2.0, 3.0, 4.0, 5.0, None, None]
    texts = ["t0", "t1", "t2", "t3", None, None, "t6", "t7"]
    for then in (lambda: None, lambda: compact(str(table), 1 << 20)):
        then()
        for found in column(kind, table, "price"):
            assert nulls_last(found) == nulls_last(prices)
        for found in column(kind, table, "text"):
            assert nulls_last(found) == nulls_last(texts)
    append(kind, table, PRICED, 4)
    for found in column(kind, table, "price"):
        assert nulls_last(found) == nulls_last([*prices, 8.0, 9.0])
    with pytest.raises(JobError, match=r"price double is not .*evolve = true"):
        append(kind, table, FIRST, 5, evolves=False)


def test_a_type_becomes_wider(tmp_path: Path) -> None:
    """Iceberg's own rules; who comes back with the narrower type is no trouble."""
    table = tmp_path / "t"
    append("iceberg", table, PRICED, 0)
    append("iceberg", table, LONG, 1)
    append("iceberg", table, PRICED, 2)
    for reader in READERS["iceberg"]:
        assert rows_of(reader, table, "id") == list(range(6)), reader
    compact(str(table), 1 << 20)
    for reader in READERS["iceberg"]:
        assert rows_of(reader, table, "id") == list(range(6)), reader
    opened = open_table("iceberg", str(table), JOB)
    files = opened.create(PRICED, evolves=True)
    opened.close()
    assert files.field("id").type == pa.int64()


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_elsewhere_a_type_stays(kind: str, tmp_path: Path) -> None:
    append(kind, tmp_path / "t", PRICED, 0)
    with pytest.raises(
        JobError, match=r"id is int32 in the table and int64 in the job"
    ):
        append(kind, tmp_path / "t", LONG, 1)
    append(kind, tmp_path / "t", PRICED, 1)


@pytest.mark.parametrize("kind", FORMATS)
def test_what_does_not_fit_is_refused(kind: str, tmp_path: Path) -> None:
    append(kind, tmp_path / "t", FIRST, 0)
    other = pa.schema([("id", pa.string()), ("text", pa.int64())])
    opened = open_table(kind, str(tmp_path / "t"), JOB)
    with pytest.raises(JobError) as refused:
        opened.create(other, evolves=True)
    opened.close()
    said = str(refused.value)
    assert "id is int32 in the table and string in the job; text is string in" in said
    assert said.endswith(": give the column another name")
    append(kind, tmp_path / "t", FIRST, 1, evolves=False)


def test_a_parquet_table_of_an_earlier_version(tmp_path: Path) -> None:
    """Its note has the columns as text alone; its files have them."""
    append("parquet", tmp_path / "t", FIRST, 0)
    note = tmp_path / "t" / "_log" / "table.json"
    note.write_text(note.read_text().partition(', "arrow"')[0] + "}")
    append("parquet", tmp_path / "t", PRICED.remove(1), 1)
    assert column("parquet", tmp_path / "t", "text") == [["t0", "t1", None, None]]


def test_wider() -> None:
    decimal = pa.decimal128
    for kind, other in (
        (pa.int64(), pa.int32()),
        (pa.float64(), pa.float32()),
        (decimal(12, 2), decimal(10, 2)),
    ):
        assert is_wider(kind, other)
        assert not is_wider(other, kind)
        assert not is_wider(kind, kind)
    assert not is_wider(pa.int64(), pa.float32())
    assert not is_wider(decimal(12, 3), decimal(10, 2))
    assert not is_wider(pa.int64(), pa.uint32())


def test_the_types_of_the_format_are_compared() -> None:
    """And files have those of the job."""
    plain = pa.schema([("id", pa.int64()), ("text", pa.large_string())])
    wanted = pa.schema([("id", pa.int64()), ("text", pa.string())])
    change = evolution(HERE, plain, wanted, plain)
    assert not change.changes_table
    assert change.files == wanted


def test_files_of_different_columns_are_taken_together() -> None:
    assert unified(HERE, [FIRST, FIRST]) == FIRST
    assert unified(HERE, [FIRST, PRICED]) == PRICED
    assert unified(HERE, [LONG, PRICED]).field("id").type == pa.int64()
    with pytest.raises(JobError, match="do not fit"):
        unified(HERE, [FIRST, pa.schema([("id", pa.list_(pa.int8()))])])

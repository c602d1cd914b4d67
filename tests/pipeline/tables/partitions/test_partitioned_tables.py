"""Partitioned tables of each format, as their readers see them."""

import shutil
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyiceberg.expressions import And, EqualTo, IsNull
from pyiceberg.table import StaticTable

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.tables.compaction.compaction import compact
from odradek.pipeline.tables.partitions.partition_path import files_in
from odradek.pipeline.tables.table import FORMATS, open_table
from tests.pipeline.fake_job import JOB

from .divided_table import KINDS, SCHEMA, by, commit_batch, filled, row

EXPECTED = [(n, KINDS[n % 3]) for n in range(24)]


def found_by_duckdb(folder: Path) -> list[tuple[Any, ...]]:
    query = (
        "SELECT n, kind, timestamp_day FROM read_parquet("
        f"'{folder}/kind=*/**/*.parquet', hive_partitioning = true,"
        " hive_types = {'kind': VARCHAR}) ORDER BY n"
    )
    with duckdb.connect() as connection:
        return connection.execute(query).fetchall()


def rows_of(kind: str, folder: Path) -> list[tuple[int, str | None]]:
    if kind == "parquet":
        return [(n, name) for n, name, _ in found_by_duckdb(folder)]
    if kind == "delta":
        table = DeltaTable(folder).to_pyarrow_table()
    else:
        table = StaticTable.from_metadata(str(folder)).scan().to_arrow()
    return sorted(zip(table["n"].to_pylist(), table["kind"].to_pylist(), strict=True))


@pytest.mark.parametrize("kind", FORMATS)
def test_all_rows_are_there(tmp_path: Path, kind: str) -> None:
    with closing(filled(kind, tmp_path / "t")) as table:
        assert len(table.files()) == 12
    assert rows_of(kind, tmp_path / "t") == EXPECTED


@pytest.mark.parametrize("kind", FORMATS)
def test_compaction_stays_within_partitions(tmp_path: Path, kind: str) -> None:
    filled(kind, tmp_path / "t", 3).close()
    done = compact(str(tmp_path / "t"))
    assert (done.files_before, done.files_after) == (18, 6)
    expected = [(n, KINDS[n % 3]) for n in range(36)]
    assert rows_of(kind, tmp_path / "t") == expected
    with closing(open_table(kind, str(tmp_path / "t"), JOB)) as table:
        table.create(SCHEMA, partitioning=by(kind))
        last = table.last_commit(JOB)
        assert last is not None
        assert last.batch == 2
        table.publish(commit_batch(table, kind, 3))
        assert len(table.files()) == 12
    assert len(rows_of(kind, tmp_path / "t")) == 48
    assert compact(str(tmp_path / "t")).files_after == 6


@pytest.mark.parametrize("kind", FORMATS)
def test_a_table_keeps_its_partitions(tmp_path: Path, kind: str) -> None:
    filled(kind, tmp_path / "t", 1).close()
    for other in (by(kind, "kind"), by(kind, "kind", "months(_timestamp)")):
        with closing(open_table(kind, str(tmp_path / "t"), JOB)) as table:
            with pytest.raises(JobError, match=r"by kind, days\(_timestamp\), "):
                table.create(SCHEMA, partitioning=other)
            with pytest.raises(JobError, match="not at all"):
                table.create(SCHEMA)
    with closing(open_table(kind, str(tmp_path / "plain"), JOB)) as table:
        table.create(SCHEMA)
        with pytest.raises(JobError, match="is not partitioned"):
            table.create(SCHEMA, partitioning=by(kind))


@pytest.mark.parametrize("kind", FORMATS)
def test_a_table_follows_its_job_and_stays_divided(tmp_path: Path, kind: str) -> None:
    filled(kind, tmp_path / "t", 1).close()
    wider = SCHEMA.append(pa.field("more", pa.string()))
    with closing(open_table(kind, str(tmp_path / "t"), JOB)) as table:
        files = table.create(wider, evolves=True, partitioning=by(kind))
        assert files.names == wider.names
        again = table.create(wider, evolves=True, partitioning=by(kind))
        assert again.names == wider.names
        with pytest.raises(JobError, match="no column kind"):
            table.create(SCHEMA.remove(0), evolves=True, partitioning=by(kind))


def test_readers_of_folders_know_the_partitions(tmp_path: Path) -> None:
    filled("parquet", tmp_path / "t").close()
    days = [row(n)["_timestamp"] for n in range(24)]
    expected = [(n, name, days[n].date()) for n, name in EXPECTED]  # type: ignore[attr-defined]
    assert found_by_duckdb(tmp_path / "t") == expected
    # Together with a partition without a value pyarrow does not read any.
    shutil.rmtree(tmp_path / "t" / "kind=__HIVE_DEFAULT_PARTITION__")
    frame = pd.read_parquet(tmp_path / "t")
    assert sorted(frame["n"]) == [n for n in range(24) if n % 3 < 2]
    assert set(frame.columns) == {"n", "_timestamp", "kind", "timestamp_day"}


def test_a_driver_that_dies_before_the_files_are_shown(tmp_path: Path) -> None:
    with closing(open_table("parquet", str(tmp_path / "t"), JOB)) as table:
        table.create(SCHEMA, partitioning=by("parquet"))
        commit_batch(table, "parquet", 0)
        assert not table.files()
    with closing(open_table("parquet", str(tmp_path / "t"), JOB)) as table:
        table.create(SCHEMA, partitioning=by("parquet"))
        last = table.last_commit(JOB)
        assert last is not None
        table.publish(last)
        table.publish(last)
    assert len(files_in(tmp_path / "t")) == 6


def test_engines_pass_over_files_of_other_partitions(tmp_path: Path) -> None:
    filled("iceberg", tmp_path / "i").close()
    table = StaticTable.from_metadata(str(tmp_path / "i"))
    day = And(
        EqualTo("kind", "007"), EqualTo("_timestamp", "2026-01-31T12:00:00+00:00")
    )
    for chosen, count in ((EqualTo("kind", "007"), 4), (day, 2), (IsNull("kind"), 4)):
        assert len(list(table.scan(row_filter=chosen).plan_files())) == count
    filled("delta", tmp_path / "d").close()
    delta = DeltaTable(tmp_path / "d")
    assert delta.metadata().partition_columns == ["kind", "timestamp_day"]
    assert len(delta.file_uris(file_pruning_predicate="kind = '007'")) == 4
    rows = delta.to_pyarrow_table(filters=[("timestamp_day", "=", date(2026, 2, 1))])
    assert set(rows["timestamp_day"].to_pylist()) == {date(2026, 2, 1)}
    assert sorted(rows["n"].to_pylist()) == list(range(1, 24, 2))

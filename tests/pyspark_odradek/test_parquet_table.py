"""A folder of Parquet files and its log: names, locks, and what is refused."""

import json
import os
from pathlib import Path

import pytest

from pyspark_odradek.commit import Commit
from pyspark_odradek.job_errors import JobError
from pyspark_odradek.parquet_table import ParquetTable
from tests.pyspark_odradek.fake_job import (
    JOB,
    SCHEMA,
    driver,
    range_of,
    run_batches,
    writer,
)
from tests.pyspark_odradek.table_readers import rows_of


def filled(folder: Path, count: int) -> ParquetTable:
    run_batches(lambda: (ParquetTable(folder, JOB), None), range(count))
    return ParquetTable(folder, JOB)


def test_readers_see_nothing_but_committed_files(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 2)
    seen = sorted(name for name in os.listdir(tmp_path / "t") if name[0] != "_")
    assert [name[:22] for name in seen] == [
        f"part-{batch:010d}-{number:05d}-"[:22] for batch in (0, 1) for number in (0, 1)
    ]
    staged = table.staging(2)
    writer(range_of(2))(staged, None)
    assert rows_of("pandas", tmp_path / "t", "_offset") == list(range(20))
    assert rows_of("duckdb", tmp_path / "t", "_offset") == list(range(20))


def test_committed_files_appear_when_the_next_driver_starts(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 1)
    staged = table.staging(1)
    written = writer(range_of(1))(staged, None)
    table.commit(Commit(JOB, 1, (), staged=staged.name), written.files)
    assert rows_of("duckdb", tmp_path / "t", "_offset") == list(range(10))
    # It died in the middle of the moves.
    manifest = json.loads((tmp_path / "t" / "_log" / f"{1:020d}.json").read_text())
    source, name = manifest["files"][0]
    os.rename(tmp_path / "t" / source, tmp_path / "t" / name)
    driver(ParquetTable(tmp_path / "t", JOB)).recover()
    assert rows_of("duckdb", tmp_path / "t", "_offset") == list(range(20))
    assert os.listdir(tmp_path / "t" / "_stage") == []


def test_one_process_writes(tmp_path: Path) -> None:
    first, second = (ParquetTable(tmp_path / "t", JOB) for _ in range(2))
    first.create(SCHEMA)
    with pytest.raises(JobError, match="another process writes"):
        second.create(SCHEMA)
    first.close()
    second.create(SCHEMA)
    second.close()


def test_folder_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(JobError, match=r"no table of odradek.*mine.txt"):
        ParquetTable(tmp_path, JOB).create(SCHEMA)


def test_table_of_another_job(tmp_path: Path) -> None:
    filled(tmp_path / "t", 1)
    other = ParquetTable(tmp_path / "t", "other")
    with pytest.raises(JobError, match="a Parquet table has one job"):
        other.create(SCHEMA)
    assert other.last_commit("other") is None

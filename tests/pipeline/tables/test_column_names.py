"""Columns that had another name, in Iceberg tables whose files know names only."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table import StaticTable

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.tables.column_names import (
    check_new_names,
    former_names,
    to_rename,
    with_new_names,
)
from odradek.pipeline.tables.commit import Commit
from odradek.pipeline.tables.compaction.compaction import compact
from odradek.pipeline.tables.files import TableSource
from odradek.pipeline.tables.iceberg import IcebergTableOfJob
from odradek.pipeline.tables.table import DataFile, open_table
from tests.pipeline.fake_job import JOB

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLACE = Path("/lake/t")
OLD = pa.schema([("id", pa.int32()), ("customer", pa.string())])
NEW = pa.schema([("client", pa.string()), ("id", pa.int64())])
NAMES = {"customer": "client"}
ROWS = [(0, "a"), (1, "b")]


def test_what_there_is_to_rename() -> None:
    assert to_rename(PLACE, ["a", "b"], ["c", "b"], {"a": "c"}) == {"a": "c"}
    assert to_rename(PLACE, ["c", "b"], ["c", "b"], {"a": "c"}) == {}  # it was done
    assert to_rename(PLACE, ["c"], ["c"], {}) == {}


@pytest.mark.parametrize(
    ("there", "wanted", "said"),
    [
        (["a"], ["b"], "the job has no column c"),
        (["a"], ["a", "c"], "the job has a column a still"),
        (["a", "c"], ["c"], "it has both columns"),
        (["b"], ["c"], "it has no column a"),
    ],
)
def test_what_cannot_be_renamed(there: list[str], wanted: list[str], said: str) -> None:
    with pytest.raises(JobError) as caught:
        to_rename(PLACE, there, wanted, {"a": "c"})
    assert str(caught.value) == (
        f'[table] renamed: a = "c" cannot be done in the table {PLACE}: {said}'
    )


def test_a_name_is_of_one_column() -> None:
    check_new_names(PLACE, ["a", "b"], {"c": "d"})
    with pytest.raises(JobError, match="c: that was the name of d"):
        check_new_names(PLACE, ["a", "c"], {"c": "d"})


def test_schemas_under_new_names() -> None:
    assert with_new_names(OLD, NAMES).names == ["id", "client"]
    assert with_new_names(OLD, {}) == OLD


def add(folder: Path, schema: pa.Schema, batch: int, **create: object) -> None:
    """A file with the rows, in the columns of a schema."""
    with closing(open_table("iceberg", str(folder), JOB)) as table:
        table.create(schema, evolves=True, **create)  # type: ignore[arg-type]
        staging = table.staging(batch)
        path = staging / "a.parquet"
        columns = {"id": [n for n, _ in ROWS], "customer": [t for _, t in ROWS]}
        columns["client"] = columns["customer"]
        rows = {name: columns[name] for name in schema.names}
        pq.write_table(pa.table(rows, schema=schema), path)
        file = DataFile(str(path), len(ROWS), path.stat().st_size)
        commit = Commit(JOB, batch, (), staged=staging.name)
        table.commit(commit, [file])
        table.publish(commit)


def found(folder: Path) -> list[tuple[int, str]]:
    rows = StaticTable.from_metadata(str(folder)).scan().to_arrow()
    assert set(rows.column_names) == {"id", "client"}
    return sorted(zip(rows["id"].to_pylist(), rows["client"].to_pylist(), strict=True))


def test_rows_of_both_names_are_rows_of_one_column(
    spark: "SparkSession", tmp_path: Path
) -> None:
    folder = tmp_path / "t"
    add(folder, OLD, 0)
    add(folder, NEW, 1, renamed=NAMES)
    add(folder, NEW, 2, renamed=NAMES)
    assert found(folder) == sorted(ROWS * 3)
    with closing(IcebergTableOfJob(folder, JOB, {})) as table:
        metadata = table.load().metadata
        assert metadata.schema().find_field("client").field_id == 2
        assert former_names(folder, metadata) == NAMES
    source = TableSource("iceberg", str(folder), {})
    files = source.files(spark)
    assert len(files) == 3
    for chosen in (files, files[:1], files[1:]):
        rows = source.rows(spark, chosen).select("id", "client").collect()
        assert sorted(map(tuple, rows)) == sorted(ROWS * len(chosen))
    assert compact(str(folder)).files_after == 1
    assert found(folder) == sorted(ROWS * 3)


def test_a_former_name_is_not_given_again(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    add(folder, OLD, 0)
    add(folder, NEW, 1, renamed=NAMES)
    again = NEW.append(pa.field("customer", pa.string()))
    with pytest.raises(JobError, match="that was the name of client"):
        add(folder, again, 2)
    back = pa.schema([("id", pa.int64()), ("customer", pa.string())])
    add(folder, back, 2, renamed={"client": "customer"})
    rows = StaticTable.from_metadata(str(folder)).scan().to_arrow()
    assert sorted(rows["customer"].to_pylist()) == sorted(["a", "b"] * 3)


def test_nothing_is_renamed_where_something_else_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    add(folder, OLD, 0)
    wrong = pa.schema([("client", pa.int64()), ("id", pa.int64())])
    with pytest.raises(JobError, match="client is string in the table"):
        add(folder, wrong, 1, renamed=NAMES)
    add(folder, OLD, 1)


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_tables_without_ids(tmp_path: Path, kind: str) -> None:
    with closing(open_table(kind, str(tmp_path / "t"), JOB)) as table:
        with pytest.raises(JobError, match="knows its columns by their names"):
            table.create(NEW, evolves=True, renamed=NAMES)
        assert not table.exists()

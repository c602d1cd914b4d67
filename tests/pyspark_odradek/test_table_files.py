from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyspark_odradek.job_errors import JobError, JobStopped
from pyspark_odradek.table_files import (
    DataFile,
    Position,
    TableSource,
    batches,
    digest,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = [DataFile(number, f"/t/{number}", 10 * number) for number in range(1, 6)]


def test_groups_of_files_are_of_about_a_size() -> None:
    def sizes(limit: int) -> list[list[int]]:
        return [[file.size for file in group] for group in batches(FILES, limit)]

    assert sizes(60) == [[10, 20, 30], [40], [50]]
    assert sizes(1) == [[10], [20], [30], [40], [50]]
    assert sizes(1000) == [[10, 20, 30, 40, 50]]
    assert list(batches([], 10)) == []


def test_a_position_goes_on_behind_what_was_loaded() -> None:
    position = Position.parse("")
    assert position.rest(FILES) == FILES
    position = Position(2, digest(FILES[:2]))
    assert Position.parse(str(position)) == position
    assert position.rest(FILES) == FILES[2:]
    assert position.rest(FILES[:2]) == []
    for changed in FILES[1:], FILES[:1], [FILES[1], FILES[0], *FILES[2:]]:
        with pytest.raises(JobStopped, match="2 loaded files"):
            position.rest(changed)


@pytest.mark.parametrize("kind", ["parquet", "delta", "iceberg"])
def test_a_table_is_read_file_by_file(
    spark: "SparkSession", tmp_path: Path, kind: str
) -> None:
    location = tmp_path / "table"
    for number in range(2):
        append(kind, location, number)
    source = TableSource(kind, str(location), {})
    files = source.files(spark)
    assert len(files) == 2
    assert files == sorted(files)
    one, other = (source.rows(spark, [file]).collect()[0]["n"] for file in files)
    assert [one, other] == [0, 1]
    assert source.rows(spark, files).count() == 2


def append(kind: str, location: Path, number: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    rows = pa.table({"n": pa.array([number], pa.int64())})
    if kind == "delta":
        import deltalake

        deltalake.write_deltalake(str(location), rows, mode="append")
    elif kind == "iceberg":
        from pyiceberg.catalog.sql import SqlCatalog

        catalog = SqlCatalog(
            "c",
            uri=f"sqlite:///{location.parent}/catalog.db",
            warehouse=str(location.parent),
        )
        catalog.create_namespace_if_not_exists("n")
        table = catalog.create_table_if_not_exists(
            "n.t", rows.schema, location=str(location)
        )
        table.append(rows)
        catalog.close()
    else:
        location.mkdir(exist_ok=True)
        pyarrow.parquet.write_table(rows, location / f"part-{number}.parquet")


@pytest.mark.parametrize("kind", ["parquet", "delta", "iceberg", "json", "csv"])
def test_no_table(spark: "SparkSession", tmp_path: Path, kind: str) -> None:
    with pytest.raises(JobError, match=str(tmp_path)):
        TableSource(kind, str(tmp_path / "nothing"), {}).files(spark)

import os
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pyarrow.parquet
import pytest

from odradek.pipeline.job_errors import JobError, JobStopped
from odradek.pipeline.tables.files import (
    DataFile,
    Position,
    TableSource,
    batches,
    check_present,
    digest,
    in_order,
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


def test_what_an_earlier_version_has_loaded() -> None:
    assert Position.parse("") == (0, "")
    position = Position(2, digest(FILES[:2]))
    assert Position.parse(str(position)) == position
    assert position.loaded(FILES[::-1]) == FILES[:2]
    assert position.loaded(FILES[:2]) == FILES[:2]
    for changed in FILES[1:], FILES[:1], [FILES[0]._replace(changed_ns=9), *FILES[1:]]:
        with pytest.raises(JobStopped, match="2 loaded files"):
            position.loaded(changed)


def test_what_was_loaded_must_be_there() -> None:
    names = {file.name for file in FILES[1:3]}
    assert all(len(name) == 16 for name in names)
    check_present(names, FILES)
    check_present(names, [file._replace(changed_ns=0, commit=8) for file in FILES])
    check_present(set(), [])
    for gone in FILES[:2], [FILES[1], FILES[2]._replace(size=31)]:
        with pytest.raises(JobStopped, match="1 loaded files"):
            check_present(names, gone)


def test_commits_come_before_times() -> None:
    late = FILES[0]._replace(commit=7)
    assert in_order([late, *FILES[:0:-1]]) == [*FILES[1:], late]


@pytest.mark.parametrize("kind", ["parquet", "delta", "iceberg"])
def test_a_table_is_read_file_by_file(
    spark: "SparkSession", tmp_path: Path, kind: str
) -> None:
    location = tmp_path / "a table"
    for number in range(2):
        append(kind, location, number)
    source = TableSource(kind, str(location), {})
    files = source.files(spark)
    assert len(files) == 2
    assert files == sorted(files)
    one, other = (source.rows(spark, [file]).collect()[0]["n"] for file in files)
    assert [one, other] == [0, 1]
    assert source.rows(spark, files).count() == 2


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_the_order_is_that_of_the_commits(tmp_path: Path, kind: str) -> None:
    """Whatever the times say, which a copy of a table does not keep."""
    location = tmp_path / "a table"
    for number in range(5):
        append(kind, location, number)
    source = TableSource(kind, str(location), {})
    for file in source.files(cast("SparkSession", None)):
        os.utime(file.path, (1, 10 - file.commit))
    files = source.files(cast("SparkSession", None))
    assert [file.commit for file in files] == sorted({file.commit for file in files})
    assert files != sorted(files)
    numbers = [pyarrow.parquet.read_table(file.path)["n"].to_pylist() for file in files]
    assert numbers == [[number] for number in range(5)]


def test_the_newest_state_of_an_iceberg_table_is_read(tmp_path: Path) -> None:
    """Not one that was touched last, nor one of a commit that came to nothing."""
    location = tmp_path / "table"
    source = TableSource("iceberg", str(location), {})
    for number in range(3):
        append("iceberg", location, number)
    states = sorted((location / "metadata").glob("*.metadata.json"))
    os.utime(states[0], (2**31, 2**31))
    assert len(source.files(cast("SparkSession", None))) == 3
    lost = location / "metadata" / f"{states[-1].name[:5]}-lost.metadata.json"
    lost.write_bytes(states[-2].read_bytes())
    os.utime(lost, (2**31, 2**31))
    hint = states[-1].name.removesuffix(".metadata.json")
    (location / "metadata" / "version-hint.text").write_text(hint)
    assert len(source.files(cast("SparkSession", None))) == 3


def test_delta_files_whose_entries_are_gone_go_by_their_times(tmp_path: Path) -> None:
    import deltalake

    location = tmp_path / "table"
    for number in range(4):
        append("delta", location, number)
    deltalake.DeltaTable(str(location)).create_checkpoint()
    for version in range(3):
        (location / "_delta_log" / f"{version:020d}.json").unlink()
    append("delta", location, 4)
    files = TableSource("delta", str(location), {}).files(cast("SparkSession", None))
    assert [file.commit for file in files] == [0, 0, 0, 3, 4]
    assert files == sorted(files)


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

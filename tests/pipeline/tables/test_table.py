"""What all formats have in common: places and schemas."""

from pathlib import Path

import pyarrow as pa
import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.tables.table import (
    FORMATS,
    Table,
    check_apart,
    check_schema,
    describe,
    local_path,
    open_table,
)
from tests.pipeline.fake_job import JOB, run_batches

SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.string())])


def test_paths_of_the_file_system_only() -> None:
    assert local_path("/a/../b/") == Path("/b")
    assert local_path("file:///a") == Path("/a")
    assert local_path("x").is_absolute()
    for url in ("s3a://bucket/x", "hdfs://h/x", "abfss://c@a/x"):
        with pytest.raises(JobError, match="file system"):
            local_path(url)


def test_dead_letters_are_not_among_the_rows(tmp_path: Path) -> None:
    rows = tmp_path / "rows"
    for beside in (f"{rows}-dead-letters", f"{tmp_path}/dead", "s3://bucket/dead"):
        check_apart(str(rows), beside)
    check_apart("s3://bucket/rows", "s3://bucket/rows-dead-letters")
    for table, among in (
        (f"{rows}/", str(rows)),
        (str(rows), f"file://{rows}/dead"),
        ("s3://bucket/rows", "s3://bucket/rows/dead/"),
    ):
        with pytest.raises(JobError, match="among the rows of"):
            check_apart(table, among)


def test_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="no table format"):
        open_table("orc", str(tmp_path), "j")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ([("a", pa.int64())], "b string is not in the job"),
        ([*SCHEMA, ("c", pa.int8())], "c int8 is not in the table"),
        ([("a", pa.int32()), ("b", pa.string())], "a is int64 in the table and int32"),
        ([("b", pa.string()), ("a", pa.int64())], "another order"),
    ],
)
def test_other_schema_is_refused(fields: list[object], said: str) -> None:
    with pytest.raises(JobError, match=said):
        check_schema(Path("t"), describe(SCHEMA), describe(pa.schema(fields)))
    check_schema(Path("t"), describe(SCHEMA), describe(SCHEMA))


@pytest.mark.parametrize("kind", FORMATS)
def test_table_of_another_schema(kind: str, tmp_path: Path) -> None:
    for _ in range(2):
        table = open_table(kind, str(tmp_path / "t"), "j")
        table.create(SCHEMA)
        table.close()
    with pytest.raises(JobError, match="another schema"):
        open_table(kind, str(tmp_path / "t"), "j").create(SCHEMA.remove(1))


@pytest.mark.parametrize("kind", FORMATS)
def test_the_last_commits(kind: str, tmp_path: Path) -> None:
    def made() -> tuple[Table, None]:
        return open_table(kind, str(tmp_path / "t"), JOB), None

    table, _ = made()
    assert table.recent(JOB, 5) == []
    run_batches(made, range(4))
    found = table.recent(JOB, 3)
    assert [each.batch for each in found] == [3, 2, 1]
    assert found[0] == table.last_commit(JOB)
    assert len(table.recent(JOB, 100)) == 4
    assert table.recent("other", 3) == []
    table.close()

"""What a task writes and reports; mostly without Spark."""

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from odradek.pipeline.job_errors import JobStopped
from odradek.pipeline.jobs import row_files
from odradek.pipeline.jobs.batch_writer import (
    BatchWriter,
    listed,
    read_reports,
    unlisted,
)
from odradek.pipeline.records.columns import RecordColumns
from odradek.pipeline.tables.places import task_file
from odradek.pipeline.values.decoding import ValueFormat
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS = RecordColumns.of(include_headers=False).arrow_schema()
JSON = ValueFormat("json", schema="n BIGINT")


def records(first: int, *values: bytes, partition: int = 0) -> pa.RecordBatch:
    rows = [
        {"topic": "t", "partition": partition, "offset": first + n, "value": value}
        for n, value in enumerate(values)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=RECORDS)


@pytest.fixture
def staging(tmp_path: Path) -> tuple[Path, Path]:
    folders = tmp_path / "rows", tmp_path / "dead"
    for folder in folders:
        folder.mkdir()
    return folders


def writer(staging: tuple[Path, Path]) -> BatchWriter:
    return BatchWriter(JSON, str(staging[0]), str(staging[1]))


def test_files_and_reports_of_several_tasks(staging: tuple[Path, Path]) -> None:
    made = writer(staging)
    reports: list[dict[str, Any]] = []
    reports += made.write_rows(
        [records(5, b'{"n":5}', b"bad"), records(7, b'{"n":7}'), records(0)]
    )
    reports += made.write_rows([records(2, b'{"n":2}', partition=1)])
    reports += made.write_rows([])
    for report in reports:  # as Spark hands them on
        for name in ("reason", "topic", "partition", "first", "last", "rows", "size"):
            report.setdefault(name, None)
    written = read_reports(reports)
    assert (written.row_count, written.dead_letter_count) == (3, 1)
    assert written.offsets == {
        TopicPartition("t", 0): (5, 7),
        TopicPartition("t", 1): (2, 2),
    }
    assert written.first_failure.startswith("t-0 at offset 6: JSON")
    assert sorted(pq.read_table(staging[0])["n"].to_pylist()) == [2, 5, 7]
    assert pq.read_table(staging[1])["value"].to_pylist() == [b"bad"]
    for file in written.files + written.dead_letters:
        assert os.path.getsize(file.path) == file.size


def test_task_that_fails_leaves_no_file_that_looks_whole(
    staging: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_files, "_ROW_GROUP_SIZE", 1)

    def batches() -> Any:
        yield records(0, b'{"n":1}')
        raise RuntimeError

    with pytest.raises(RuntimeError):
        writer(staging).write_rows(batches())
    assert list(staging[0].glob("*.parquet")) == []


def test_files_end_when_they_are_large(
    staging: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_files, "_ROW_GROUP_SIZE", 1)
    monkeypatch.setattr(row_files, "_FILE_SIZE_MAX", 1)
    batches = [records(n, b'{"n":%d}' % n) for n in range(3)]
    writer(staging).write_rows(batches)
    files = list(staging[0].glob("*.parquet"))
    assert len(files) == 3
    assert sorted(pq.read_table(staging[0])["n"].to_pylist()) == [0, 1, 2]


def test_bad_value_without_a_place_for_it(staging: tuple[Path, Path]) -> None:
    made = BatchWriter(JSON, str(staging[0]), None)
    with pytest.raises(JobStopped, match="t-0 at offset 3: JSON"):
        made.write_rows([records(3, b"bad")])


def test_headers_go_into_tasks_without_nulls_and_come_out_with_them(
    spark: "SparkSession",
) -> None:
    pair = {"key": "h", "value": b"1"}
    kind = "offset bigint, headers array<struct<key: string, value: binary>>"
    given = [(0, None), (1, [pair]), (2, None)]
    found = listed(spark.createDataFrame(given, kind)).orderBy("offset").collect()
    lists = [row.asDict(recursive=True)["headers"] for row in found]
    assert lists == [[], [pair], []]

    schema = RecordColumns.of(include_headers=True).arrow_schema()
    rows = [{"offset": n, "headers": each} for n, each in enumerate(lists)]
    batch = unlisted(pa.RecordBatch.from_pylist(rows, schema=schema))
    assert batch.schema == schema
    assert batch.column("headers").to_pylist() == [None, [pair], None]
    assert batch.column("offset").to_pylist() == [0, 1, 2]
    bare = records(0, b"{}")
    assert unlisted(bare) is bare


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            FileNotFoundError(2, "No such file"),
            "does not see /lake/t, which the driver",
        ),
        (PermissionError(13, "Denied"), r"may not write to /lake/t \(as user \d+\)"),
    ],
)
def test_a_machine_without_the_folder(
    error: OSError,
    said: str,
    staging: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The task names it; in the driver the error is what it is."""

    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(pq, "ParquetWriter", refuse)
    with pytest.raises(type(error)):
        writer(staging).write_rows([records(0, b'{"n":1}')])
    monkeypatch.setattr(row_files, "is_task", lambda: True)
    lake = BatchWriter(JSON, "/lake/t", "/lake/t")
    with pytest.raises(JobStopped, match=f"{socket.gethostname()} {said}"):
        lake.write_rows([records(0, b'{"n":1}')])


def test_file_is_durable_before_it_has_its_name(
    staging: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task syncs it: the driver may be another machine."""
    synced = []

    def sync(path: str) -> None:
        synced.append((path.removesuffix(".tmp"), pq.read_metadata(path).num_rows))
        assert not os.path.exists(path.removesuffix(".tmp"))

    monkeypatch.setattr(task_file, "sync", sync)
    reports = writer(staging).write_rows([records(0, b'{"n":1}', b"bad")])
    files = [each for each in reports if each["kind"] != "seen"]
    assert synced == [(each["path"], each["rows"]) for each in files]
    assert len(synced) == 2

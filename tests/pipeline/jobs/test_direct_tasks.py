"""Tasks that read and write in one process; mostly without Spark."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from odradek.pipeline.jobs import direct_tasks
from odradek.pipeline.jobs.batch_writer import BatchWriter
from odradek.pipeline.jobs.direct_tasks import DirectTasks
from odradek.pipeline.records.columns import RecordColumns
from odradek.pipeline.source.data_source import BatchReader, Decoding
from odradek.pipeline.source.options import RECORDS, read_options
from odradek.pipeline.values.decoding import ValueFormat
from odradek.protocol.topic_partition import TopicPartition
from tests.pipeline.log_directories import TOPIC, make_directory, small_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def tasks_of(folder: Path) -> DirectTasks:
    """Those of a log with 60 records in three segments."""
    rows = folder / "rows"
    rows.mkdir()
    root = make_directory(folder / "data", small_batches(30))
    options = read_options({"path": str(root), "subscribe": TOPIC})
    decoding = Decoding(RECORDS, RecordColumns.of(include_headers=True), options)
    how = ValueFormat("string", columns=("partition", "offset", "headers"))
    partitions = BatchReader(options, decoding).partitions()
    writer = BatchWriter(how, str(rows), None)
    return DirectTasks(partitions, options, decoding, writer)


def test_a_task_reads_and_writes(tmp_path: Path) -> None:
    tasks = pickle.loads(pickle.dumps(tasks_of(tmp_path)))
    assert len(tasks.partitions) > 0
    seen = []
    for number in range(len(tasks.partitions)):
        reports = tasks.reports(number)
        seen += [
            (each["first"], each["last"]) for each in reports if each["kind"] == "seen"
        ]
    assert (min(seen)[0], max(seen)[1]) == (0, 59)
    found = pq.read_table(tmp_path / "rows").sort_by("offset").to_pylist()
    assert [row["offset"] for row in found] == list(range(60))
    assert found[7] == {"partition": 0, "offset": 7, "headers": None, "value": "7"}


def test_spark_gives_each_task_its_number(
    spark: "SparkSession", tmp_path: Path
) -> None:
    tasks = tasks_of(tmp_path)
    written = tasks.write(spark)
    assert written.row_count == 60
    assert written.offsets == {TopicPartition(TOPIC, 0): (0, 59)}
    names = {file.path for file in written.files}
    assert names == {str(path) for path in (tmp_path / "rows").iterdir()}


def test_a_task_is_handed_no_more_than_its_slice(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct_tasks, "_TASKS_TOGETHER", 2)
    whole = tasks_of(tmp_path)
    tasks = replace(whole, partitions=[each for each in whole.partitions for _ in "12"])
    assert len(tasks.partitions) > 2
    written = tasks.write(spark)
    assert written.row_count == 120
    assert len(written.files) == len(tasks.partitions)


def test_nothing_to_read_is_no_job(spark: "SparkSession", tmp_path: Path) -> None:
    tasks = tasks_of(tmp_path)
    written = DirectTasks([], tasks.options, tasks.decoding, tasks.writer).write(spark)
    assert (written.row_count, written.files, written.offsets) == (0, [], {})

"""A table in a topic, file by file: also what comes later, never what was loaded."""

import os
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from client.cluster import Cluster
from client.topics import NewTopic, create_topic
from pyspark_odradek.job_errors import JobStopped
from pyspark_odradek.loader import Loader, LoadJob
from pyspark_odradek.table_files import TableSource
from pyspark_odradek.table_load import LoadedFiles, load_table
from tests.broker_process import BrokerProcess
from tests.client.live import settle
from tests.client.test_producer import records_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def write(location: Path, number: int, count: int = 10) -> None:
    """A file of the table, changed after those before it."""
    import pyarrow as pa
    import pyarrow.parquet

    location.mkdir(exist_ok=True)
    values = [f"{number}-{row}" for row in range(count)]
    path = location / f"part-{number}.parquet"
    pyarrow.parquet.write_table(pa.table({"value": values}), path)
    os.utime(path, (number, number))


def test_new_files_follow_and_changed_ones_are_refused(
    spark: "SparkSession",
    broker_process: BrokerProcess,
    cluster: Cluster,
    topic: str,
    tmp_path: Path,
) -> None:
    create_topic(cluster, NewTopic(topic))
    job = LoadJob(topic, topic, broker_process.address)
    source = TableSource("parquet", str(tmp_path / "table"), {})

    def load(batch_size: int) -> list[LoadedFiles]:
        with Loader(spark, job) as loader:
            return list(load_table(spark, loader, source, batch_size=batch_size))

    for number in 1, 2, 3:
        write(tmp_path / "table", number)
    first = load(1)
    assert [each[:3] for each in first] == [(0, 1, 10), (1, 1, 10), (2, 1, 10)]
    assert first[-1].remaining_size == 0
    assert load(1) == []
    for number in 4, 5:
        write(tmp_path / "table", number)
    (second,) = load(1 << 20)
    assert second[:3] == (3, 2, 20)
    settle(cluster, topic)
    numbers = product(range(1, 6), range(10))
    expected = {f"{number}-{row}".encode() for number, row in numbers}
    found = [record.value for record in records_in(cluster, topic, 0)]
    assert len(found) == 50
    assert set(found) == expected
    write(tmp_path / "table", 2, count=11)
    with pytest.raises(JobStopped, match="load it under another --job"):
        load(1)

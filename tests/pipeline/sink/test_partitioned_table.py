"""A job whose table is divided by a column of its values, and by days."""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.jobs.job_file import Job, read_job
from odradek.pipeline.tables.files import TableSource
from tests.broker_process import BrokerProcess
from tests.pipeline.feeding import create, send
from tests.pipeline.sink.test_sink import once, prepare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    "kind",
    [
        "parquet",
        pytest.param("delta", marks=pytest.mark.long),
        pytest.param("iceberg", marks=pytest.mark.long),
    ],
)
def test_rows_dead_letters_and_a_lost_checkpoint(
    broker_process: BrokerProcess,
    spark: "SparkSession",
    topic: str,
    tmp_path: Path,
    kind: str,
) -> None:
    address = broker_process.address
    create(address, topic, 2)

    def job(
        *, small: int = 0, by: tuple[str, ...] = ("kind", "days(_timestamp)")
    ) -> Job:
        source = {"bootstrap_servers": address, "topics": [topic]}
        content: dict[str, Any] = {
            "name": topic,
            "source": {**source, "small_batch_records": small},
            "value": {"format": "json", "schema": "id INT, kind STRING"},
            "table": {"path": "rows", "format": kind, "partition_by": list(by)},
        }
        return read_job(content, tmp_path)

    def rows(first: int, partition: int) -> None:
        made = [{"id": n, "kind": f"0{n % 3}"} for n in range(first, first + 6)]
        send(address, topic, [json.dumps(r).encode() for r in made], partition)

    rows(0, 0)
    send(address, topic, [json.dumps({"id": 9, "kind": "x" * 300}).encode()])
    *_, step = once(job(), spark)
    assert (step["records"], step["dead_letters"]) == (7, 1)
    rows(6, 1)
    once(job(small=100), spark)  # by the driver itself
    shutil.rmtree(tmp_path / "rows-checkpoint")
    rows(12, 0)
    once(job(), spark, rebuild_checkpoint=True)
    table = TableSource(kind, str(tmp_path / "rows"), {})
    found = table.rows(spark, table.files(spark)).select("id", "kind")
    assert sorted(map(tuple, found.collect())) == [(n, f"0{n % 3}") for n in range(18)]
    with pytest.raises(JobError, match="is partitioned by kind, days"):
        prepare(job(by=("kind",)))
    with pytest.raises(JobError, match="rows of this job have no column knd"):
        prepare(job(by=("knd",)))

"""A job whose values get other fields, and a table that follows."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.jobs.job_file import Job, read_job
from odradek.pipeline.tables.files import TableSource
from odradek.pipeline.tables.table import FORMATS
from tests.broker_process import BrokerProcess
from tests.pipeline.feeding import create, send
from tests.pipeline.sink.test_sink import once

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST = "id INT, text STRING"
SECOND = "price DOUBLE, id INT"


@pytest.mark.parametrize("kind", FORMATS)
def test_rows_of_both_schemas_are_loaded(
    broker_process: BrokerProcess,
    spark: "SparkSession",
    topic: str,
    tmp_path: Path,
    kind: str,
) -> None:
    address = broker_process.address
    create(address, topic)

    def job(schema: str, *, evolve: bool = True, small: int = 0) -> Job:
        source = {"bootstrap_servers": address, "topics": [topic]}
        content: dict[str, Any] = {
            "name": topic,
            "source": {**source, "small_batch_records": small},
            "value": {"format": "json", "schema": schema},
            "table": {"path": "rows", "format": kind, "evolve": evolve, "columns": []},
        }
        return read_job(content, tmp_path)

    def rows(first: int) -> None:
        made = [{"id": n, "text": f"t{n}", "price": n / 2} for n in (first, first + 1)]
        send(address, topic, [json.dumps(row).encode() for row in made])

    rows(0)
    once(job(FIRST), spark)
    rows(2)
    with pytest.raises(JobError, match="has another schema"):
        once(job(SECOND, evolve=False), spark)
    once(job(SECOND), spark)
    rows(4)
    once(job(f"{SECOND}, text STRING", small=100), spark)  # by the driver itself
    table = TableSource(kind, str(tmp_path / "rows"), {})
    found = table.rows(spark, table.files(spark)).select("id", "text", "price")
    assert sorted(map(tuple, found.collect())) == [
        (0, "t0", None),
        (1, "t1", None),
        (2, None, 1.0),
        (3, None, 1.5),
        (4, "t4", 2.0),
        (5, "t5", 2.5),
    ]

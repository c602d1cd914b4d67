"""A job whose values get other fields, and a table that follows."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.jobs.job_file import Job, read_job
from odradek.pipeline.load.loader import Loader, LoadJob
from odradek.pipeline.load.replay import Replay
from odradek.pipeline.load.table_load import load_table
from odradek.pipeline.tables.files import TableSource
from tests.broker_process import BrokerProcess
from tests.pipeline.feeding import create, send
from tests.pipeline.sink.test_sink import once

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEPT = "id BIGINT, name STRING"
FIRST = "id INT, text STRING"
SECOND = "price DOUBLE, id INT"


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("parquet", marks=pytest.mark.long),
        pytest.param("delta", marks=pytest.mark.long),
        "iceberg",
    ],
)
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


def test_dead_letters_come_back_once_the_schema_is_mended(
    broker_process: BrokerProcess, spark: "SparkSession", topic: str, tmp_path: Path
) -> None:
    """An id that became a text, and a column that got another name."""
    address = broker_process.address
    create(address, topic)

    def job(schema: str, **table: Any) -> Job:
        content: dict[str, Any] = {
            "name": topic,
            "source": {"bootstrap_servers": address, "topics": [topic]},
            "value": {"format": "json", "schema": schema},
            "table": {"path": "rows", "format": "iceberg", "columns": [], **table},
        }
        return read_job(content, tmp_path)

    def replayed() -> int:
        letters = TableSource("iceberg", str(tmp_path / "rows-dead-letters"), {})
        mended = LoadJob(f"mended-{topic}", topic, address, begins=True)
        replay = Replay()
        with Loader(spark, mended) as loader:
            done = load_table(
                spark, loader, letters, replay.columns, change=replay.rows
            )
            return sum(each.records for each in done)

    first = "id INT NOT NULL, text STRING"
    send(address, topic, [b'{"id": 1, "text": "a"}', b'{"id": 2, "text": "b"}'])
    once(job(first), spark)
    values = [b'{"id": 5000000000, "name": "c"}', b'{"id": 6000000000, "name": "d"}']
    send(address, topic, values)
    told = once(job(first), spark)
    said = [step for step in told if step["step"] == "dead letters"]
    assert len(said) == 1
    assert f"{topic}-0 at offset 2: " in said[0]["first"]

    mended = job(KEPT, evolve=True, renamed={"text": "name"})
    once(mended, spark)
    assert replayed() == 2
    assert replayed() == 0
    once(mended, spark)
    once(mended, spark)
    table = TableSource("iceberg", str(tmp_path / "rows"), {})
    found = table.rows(spark, table.files(spark)).select("id", "name").collect()
    expected = [(1, "a"), (2, "b"), (5_000_000_000, "c"), (6_000_000_000, "d")]
    assert sorted(map(tuple, found)) == expected

"""A topic of changes becomes a table of what is, by a sink as it is run."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.jobs.job_file import Job, read_job
from tests.broker_process import BrokerProcess
from tests.patience import PATIENCE_S
from tests.pipeline.feeding import create
from tests.pipeline.sink.test_sink import once, prepare
from tests.pipeline.table_readers import READERS, rows_of
from tests.sampling import sampled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def job(
    folder: Path, address: str, topic: str, kind: str, small: int, mode: str = "upsert"
) -> Job:
    source = {"bootstrap_servers": address, "topics": [topic]}
    schema = "id BIGINT NOT NULL, text STRING"
    content: dict[str, Any] = {
        "name": topic,
        "source": {**source, "small_batch_records": small},
        "value": {"format": "json", "schema": schema},
        "table": {"path": "rows", "format": kind, "mode": mode, "evolve": True},
    }
    return read_job(content, folder)


def send(address: str, topic: str, changes: dict[str, int | None]) -> None:
    """Each change in the partition that its key belongs to."""
    producer = Producer({"bootstrap.servers": address, "linger.ms": 5})
    for key, number in changes.items():
        value = None if number is None else json.dumps({"id": number, "text": key})
        producer.produce(topic, value, key)
    assert producer.flush(PATIENCE_S) == 0


@pytest.mark.parametrize("kind", sampled(["delta", "iceberg"], "iceberg"))
def test_the_last_value_of_each_key(
    broker_process: BrokerProcess,
    spark: "SparkSession",
    topic: str,
    tmp_path: Path,
    kind: str,
) -> None:
    """By tasks of Spark, and by the driver itself where a batch is small."""
    address = broker_process.address
    create(address, topic, 3)
    model: dict[str, int | None] = {}
    for number, small in enumerate((0, 0, 1000)):
        changes: dict[str, int | None] = {
            f"key-{n}": None if n % 7 == number else 100 * number + n
            for n in range(10 * number, 10 * number + 30)
        }
        for _ in range(2):  # the same once more: nothing is there twice
            send(address, topic, changes)
        model |= changes
        once(job(tmp_path, address, topic, kind, small), spark)
        kept = {key: there for key, there in model.items() if there is not None}
        for reader in READERS[kind]:
            assert rows_of(reader, tmp_path / "rows", "id") == sorted(kept.values())
            assert rows_of(reader, tmp_path / "rows", "text") == sorted(kept), reader


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_table_is_of_one_mode(
    broker_process: BrokerProcess, topic: str, tmp_path: Path, kind: str
) -> None:
    create(broker_process.address, topic)
    for first, second, said in (
        ("append", "upsert", "has rows that were added, and the job has mode"),
        ("upsert", "append", "has the last row of each key"),
    ):
        (tmp_path / first).mkdir()
        given = tmp_path / first, broker_process.address, topic, kind, 0
        prepare(job(*given, first))
        prepare(job(*given, first))
        with pytest.raises(JobError, match=said):
            prepare(job(*given, second))

"""Rows in a topic: each once, whatever happens to tasks and drivers."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from odradek.client.batch_builder import NOBODY
from odradek.client.cluster import Cluster
from odradek.client.producer import ProducerSettings
from odradek.client.topics import NewTopic, create_topic
from odradek.client.transaction_steps import init_producer_id, transaction_name
from odradek.pipeline.job_errors import JobError, JobStopped
from odradek.pipeline.load import loader as loader_module
from odradek.pipeline.load.loader import Loaded, Loader, LoadJob
from odradek.pipeline.load.record_rows import RecordColumns
from odradek.protocol.records import Record
from tests.broker_process import BrokerProcess
from tests.client.live import settle
from tests.client.test_producer import records_in
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

KEYED = RecordColumns(key="key", value="value")


@pytest.fixture
def job(broker_process: BrokerProcess, cluster: Cluster, topic: str) -> LoadJob:
    create_topic(cluster, NewTopic(topic, 3))
    settings = ProducerSettings(batch_size=2000)
    return LoadJob(
        f"job-{topic}", topic, broker_process.address, settings, timeout_s=PATIENCE_S
    )


def rows(spark: "SparkSession", start: int, end: int) -> "DataFrame":
    return spark.range(start, end, 1, 2).selectExpr(
        "cast(id % 10 as string) as key", "cast(id as string) as value"
    )


def read_all(cluster: Cluster, topic: str) -> list[Record]:
    settle(cluster, topic)
    found: list[Record] = []
    for number in range(3):
        found += records_in(cluster, topic, number)
    return found


def values_of(cluster: Cluster, topic: str) -> list[int]:
    return sorted(int(record.value or b"-1") for record in read_all(cluster, topic))


def test_a_batch_is_loaded_once(
    spark: "SparkSession", cluster: Cluster, job: LoadJob
) -> None:
    with Loader(spark, job) as loader:
        assert loader.last_batch() == (-1, "")
        assert loader.load(rows(spark, 0, 500), 0, KEYED, "a note") == Loaded(0, 500)
        assert loader.load(rows(spark, 0, 500), 0, KEYED) == Loaded(0, None)
        assert loader.load(rows(spark, 500, 600), 1, KEYED) == Loaded(1, 100)
        assert loader.load(rows(spark, 0, 0), 2, KEYED, "empty") == Loaded(2, 0)
        assert loader.last_batch() == (2, "empty")
    with Loader(spark, job) as loader:
        assert loader.load(rows(spark, 0, 500), 1, KEYED) == Loaded(1, None)
    assert values_of(cluster, job.topic) == list(range(600))
    by_key: dict[bytes | None, set[int]] = {}
    for number in range(3):
        for record in records_in(cluster, job.topic, number):
            by_key.setdefault(record.key, set()).add(number)
    assert all(len(numbers) == 1 for numbers in by_key.values())


def test_a_second_driver_shuts_the_first_out(
    spark: "SparkSession", cluster: Cluster, job: LoadJob
) -> None:
    with Loader(spark, job) as first:
        first.load(rows(spark, 0, 10), 0, KEYED)
        with Loader(spark, job) as second:
            with pytest.raises(JobStopped, match="another run of job"):
                first.load(rows(spark, 10, 20), 1, KEYED)
            assert second.load(rows(spark, 10, 20), 1, KEYED) == Loaded(1, 10)
    assert values_of(cluster, job.topic) == list(range(20))


def test_a_batch_that_takes_too_long_is_no_second_driver(
    spark: "SparkSession",
    cluster: Cluster,
    job: LoadJob,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def hesitate(cluster: Cluster, *given: Any) -> None:
        # Nobody else writes: the broker ends it when its time is over.
        settle(cluster, job.topic)
        return commit(cluster, *given)

    commit = loader_module.commit_offsets_in_transaction
    monkeypatch.setattr(loader_module, "commit_offsets_in_transaction", hesitate)
    short = replace(job, transaction_timeout_ms=500, tries=1)
    with (
        Loader(spark, short) as loader,
        pytest.raises(JobStopped, match=r"longer than its transaction may \(0.5 s\)"),
    ):
        loader.load(rows(spark, 0, 10), 0, KEYED)
    assert read_all(cluster, job.topic) == []


class FailsOnce:
    """A task that fails behind its first rows, the first time that it runs."""

    def __init__(self, marker: Path) -> None:
        self._marker = str(marker)

    def __call__(
        self, batches: "Iterator[pyarrow.RecordBatch]"
    ) -> "Iterator[pyarrow.RecordBatch]":
        for number, batch in enumerate(batches):
            if number and not Path(self._marker).exists():
                Path(self._marker).touch()
                raise ZeroDivisionError("it fails once")
            yield batch


def test_a_batch_whose_task_failed_is_done_again(
    spark: "SparkSession",
    cluster: Cluster,
    job: LoadJob,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The failing task stands behind the shuffle, so others have begun to send."""
    prepare = loader_module.record_rows

    def failing(*given: object) -> "DataFrame":
        prepared = prepare(*given)  # type: ignore[arg-type]
        return prepared.mapInArrow(FailsOnce(tmp_path / "failed"), prepared.schema)

    monkeypatch.setattr(loader_module, "record_rows", failing)
    limit = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(limit)
    spark.conf.set(limit, "50")
    try:
        with Loader(spark, job) as loader:
            found = loader.load(rows(spark, 0, 1000), 0, KEYED)
    finally:
        spark.conf.set(limit, before or "10000")
    assert (tmp_path / "failed").exists()
    assert found == Loaded(0, 1000)
    assert values_of(cluster, job.topic) == list(range(1000))


def test_a_commit_whose_answer_is_lost(
    spark: "SparkSession",
    cluster: Cluster,
    job: LoadJob,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether it was done, only the notes can tell: it is not done again."""
    with Loader(spark, job) as loader:
        end, ended = loader_module.end_transaction, []

        def lose(*given: Any, **how: Any) -> Any:
            ended.append(end(*given, **how))
            raise ConnectionError("the answer is lost")

        monkeypatch.setattr(loader_module, "end_transaction", lose)
        assert loader.load(rows(spark, 0, 100), 0, KEYED, "a note") == Loaded(0, None)
        monkeypatch.undo()
        assert len(ended) == 1
        assert loader.last_batch() == (0, "a note")
        assert loader.load(rows(spark, 100, 150), 1, KEYED) == Loaded(1, 50)
    assert values_of(cluster, job.topic) == list(range(150))


def test_a_batch_that_always_fails_leaves_nothing(
    spark: "SparkSession", cluster: Cluster, job: LoadJob
) -> None:
    placed = rows(spark, 0, 10).selectExpr("key", "value", "int(value) as place")
    columns = RecordColumns("key", "value", partition="place")
    with Loader(spark, job) as loader:
        with pytest.raises(JobStopped, match=r"3 tries: .*wants partition \d"):
            loader.load(placed, 0, columns)
        assert loader.last_batch().number == -1
    assert read_all(cluster, job.topic) == []


def test_what_a_dead_driver_left_open_is_aborted(
    spark: "SparkSession", cluster: Cluster, job: LoadJob
) -> None:
    """It died before it could commit; its records are seen by nobody."""
    from odradek.client.producer import Producer
    from odradek.protocol.records import NewRecord

    name = transaction_name(cluster, job.name)
    identity = init_producer_id(cluster, name, known=NOBODY)
    dead = Producer(cluster, transaction=name, identity=identity)
    dead.send(job.topic, NewRecord(None, b"lost", 0))
    dead.flush()
    with Loader(spark, job) as loader:
        dead.send(job.topic, NewRecord(None, b"late", 0))
        with pytest.raises(Exception, match=r"epoch|newer"):
            dead.flush()
        loader.load(rows(spark, 0, 10), 0, KEYED)
    dead.close()
    assert values_of(cluster, job.topic) == list(range(10))


def test_what_cannot_be_loaded_is_said_at_once(
    spark: "SparkSession", broker_process: BrokerProcess, job: LoadJob
) -> None:
    with pytest.raises(JobError, match="odradek topic create no-such-topic makes one"):
        Loader(spark, replace(job, topic="no-such-topic"))
    with pytest.raises(JobError, match="give a shorter --transaction-timeout"):
        Loader(spark, replace(job, transaction_timeout_ms=10**9))
    with (
        Loader(spark, job) as loader,
        pytest.raises(JobError, match="no column nope for the key; it has key, value"),
    ):
        loader.load(rows(spark, 0, 1), 0, RecordColumns(key="nope"))

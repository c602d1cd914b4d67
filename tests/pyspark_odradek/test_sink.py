"""The streaming job: what it refuses before Spark is there, and what it writes."""

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from client.cluster import Cluster
from client.group_offsets import committed_offsets
from client.records_deletion import delete_records
from protocol.topic_partition import TopicPartition
from pyspark_odradek.checkpoint import Checkpoint
from pyspark_odradek.job_errors import JobError, JobStopped, TooManyDeadLetters
from pyspark_odradek.job_file import Job, read_job
from pyspark_odradek.progress import Progress
from pyspark_odradek.sink import Sink
from pyspark_odradek.status import job_status, status_lines
from tests.broker_process import BrokerProcess
from tests.pyspark_odradek.feeding import create, delete, send
from tests.pyspark_odradek.sink_process import bad, good, send_rows
from tests.pyspark_odradek.table_readers import rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.timeout(900)  # a busy machine makes Spark slow


def no_spark() -> "SparkSession":
    raise AssertionError("Spark is not needed to say this")


@pytest.fixture
def job(
    broker_process: BrokerProcess, topic: str, tmp_path: Path
) -> Callable[..., Job]:
    """Makes a job of the test's topic, with more keys for its sections."""

    def make(**sections: Any) -> Job:
        address = broker_process.address
        content: dict[str, Any] = {
            "name": topic,
            "source": {"bootstrap_servers": address, "topics": [topic]},
            "value": {"format": "json", "schema": "id BIGINT NOT NULL, text STRING"},
            "table": {"path": "rows"},
        }
        for name, keys in sections.items():
            content[name] = {**content.get(name, {}), **keys}
        return read_job(content, tmp_path)

    return make


def once(job: Job, spark: "SparkSession", **options: bool) -> list[dict[str, Any]]:
    """Run it once; what it said."""
    said = io.StringIO()
    sink = Sink(job, lambda: spark, progress=Progress(said), give_up_after_s=300)
    try:
        sink.prepare(**options)
        sink.run(once=True)
    finally:
        sink.close()
    return [json.loads(line) for line in said.getvalue().splitlines()]


def prepare(job: Job, **options: bool) -> None:
    sink = Sink(job, no_spark)
    try:
        sink.prepare(**options)
    finally:
        sink.close()


def test_rows_dead_letters_lag_and_all_that_stops_it(
    job: Callable[..., Job],
    spark: "SparkSession",
    broker_process: BrokerProcess,
    cluster: Cluster,
    topic: str,
    tmp_path: Path,
) -> None:
    address = broker_process.address
    create(address, topic, 3)
    send_rows(address, topic, 0, 300)
    this = job()
    (step,) = once(this, spark)
    assert (step["records"], step["dead_letters"], step["remaining"]) == (300, 6, 0)
    assert rows_of("duckdb", tmp_path / "rows", "id") == good(300)
    assert rows_of("duckdb", tmp_path / "rows-dead-letters", "value") == bad(300)
    group = committed_offsets(cluster, this.group)
    assert sum(each.offset for each in group.values()) == 300

    send_rows(address, topic, 300, 30)
    status = job_status(this)
    assert (status.lag, status.planned, status.done) == (30, 0, 0)
    assert any("total lag: 30" in line for line in status_lines(status))
    assert status.as_json()["partitions"][2]["committed"] == 100

    # A checkpoint that is lost, made anew; then one that is older than the table.
    checkpoint = Path(this.checkpoint)
    first = tmp_path / "first"
    checkpoint.rename(first)
    with pytest.raises(JobStopped, match=r"lost or empty.*--rebuild-checkpoint"):
        prepare(this)
    assert [step["step"] for step in once(this, spark, rebuild_checkpoint=True)] == [
        "rebuilt checkpoint",
        "batch",
    ]
    assert rows_of("duckdb", tmp_path / "rows", "id") == good(330)
    checkpoint.rename(tmp_path / "second")
    first.rename(checkpoint)
    with pytest.raises(JobStopped, match="older than the table"):
        prepare(this)
    checkpoint.rename(tmp_path / "third")
    (tmp_path / "second").rename(checkpoint)
    prepare(this)

    # A table that is put back, and one that is gone.
    manifest = tmp_path / "rows" / "_log" / f"{1:020d}.json"
    manifest.rename(tmp_path / "manifest")
    with pytest.raises(JobStopped, match="has batch 1 done, but the table has only"):
        prepare(this)
    (tmp_path / "manifest").rename(manifest)
    with pytest.raises(JobStopped, match="has no commit of this job"):
        prepare(replace(this, table_path=str(tmp_path / "elsewhere")))

    check_lost_topic(this, broker_process, cluster)
    assert rows_of("duckdb", tmp_path / "rows", "id") == good(330)


def check_lost_topic(job: Job, broker: BrokerProcess, cluster: Cluster) -> None:
    """A topic whose records go away, and that is another one then."""
    (topic,) = job.source.topics
    delete_records(cluster, {TopicPartition(topic, 0): 110})
    prepare(job)
    send_rows(broker.address, topic, 330, 30)
    delete_records(cluster, {TopicPartition(topic, 0): 115})
    with pytest.raises(JobStopped, match="retention removed 5 offsets"):
        prepare(job)
    delete(broker.address, topic)
    create(broker.address, topic, 3)
    with pytest.raises(JobStopped, match="deleted and created again"):
        prepare(job)


def test_mostly_bad_values_stop_the_job(
    job: Callable[..., Job],
    spark: "SparkSession",
    broker_process: BrokerProcess,
    topic: str,
) -> None:
    create(broker_process.address, topic)
    send(broker_process.address, topic, [b"bad"] * 150 + [b'{"id":1}'] * 50)
    with pytest.raises(TooManyDeadLetters, match="150 of the last 200"):
        once(job(), spark)
    this = job(dead_letters={"enabled": False})
    with pytest.raises(JobStopped, match=f"{topic}-0 at offset 0: JSON"):
        once(this, spark)


def test_topic_that_is_not_there(job: Callable[..., Job]) -> None:
    with pytest.raises(JobError, match="brokers: 127"):
        prepare(job())


def test_broker_that_is_away(job: Callable[..., Job]) -> None:
    with pytest.raises(ConnectionError, match=r"127.0.0.1:1"):
        prepare(job(source={"bootstrap_servers": "127.0.0.1:1"}))


def test_table_of_another_job(
    job: Callable[..., Job], broker_process: BrokerProcess, topic: str
) -> None:
    create(broker_process.address, topic)
    prepare(job())
    other = read_job(
        {
            "name": "another",
            "source": {"topics": [topic]},
            "table": {"path": job().table_path},
        },
        Path("/"),
    )
    with pytest.raises(JobError, match=f"is of the job '{topic}'"):
        prepare(other)


def test_nothing_to_rebuild_from(
    job: Callable[..., Job], broker_process: BrokerProcess, topic: str
) -> None:
    create(broker_process.address, topic)
    with pytest.raises(JobError, match="nothing to make a checkpoint of"):
        prepare(job(), rebuild_checkpoint=True)


def test_new_job_keeps_where_it_begins(
    job: Callable[..., Job], broker_process: BrokerProcess, topic: str
) -> None:
    create(broker_process.address, topic)
    send(broker_process.address, topic, [b"x"] * 3)
    this = job(source={"starting_offsets": "latest"})
    prepare(this)
    send(broker_process.address, topic, [b"x"] * 3)
    prepare(this)
    assert Checkpoint(this.checkpoint).start() == {TopicPartition(topic, 0): 3}

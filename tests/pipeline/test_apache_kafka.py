"""The jobs of the pipeline on Apache Kafka itself; loads and batches have theirs."""

import io
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from odradek.client.address import Address
from odradek.client.cluster import Cluster
from odradek.client.group_offsets import committed_offsets
from odradek.client.records_deletion import delete_records
from odradek.pipeline.job_errors import JobError, JobStopped
from odradek.pipeline.jobs.export import Export, run_export
from odradek.pipeline.jobs.job_committer import JobCommitter, Step
from odradek.pipeline.jobs.job_file import Job, read_job
from odradek.pipeline.jobs.job_source import Source
from odradek.pipeline.load.loader import Loader, LoadJob
from odradek.pipeline.load.replay import HEADER, Replay
from odradek.pipeline.load.table_load import load_table
from odradek.pipeline.sink import sink as sink_module
from odradek.pipeline.sink.sink import Sink
from odradek.pipeline.sink.status import job_status
from odradek.pipeline.spark.doctor import examine
from odradek.pipeline.tables.compaction.compaction import compact
from odradek.pipeline.tables.files import TableSource
from odradek.pipeline.values.decoding import ValueFormat
from odradek.protocol.topic_partition import TopicPartition
from odradek.terminal.progress import Progress
from tests.apache_kafka.node import KafkaNode
from tests.client.live import connected, settle
from tests.client.test_producer import records_in
from tests.patience import PATIENCE_S
from tests.pipeline.feeding import create, delete, send
from tests.pipeline.sink_process import bad, good, send_rows
from tests.pipeline.table_readers import READERS, rows_of
from tests.pipeline.test_sink_kill import lose_last_commit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
# At which a driver of the sink comes to its end.
STEPS = [Step.STAGED, Step.DEAD_LETTERS_COMMITTED, Step.COMMITTED]
SCHEMA = "id BIGINT NOT NULL, text STRING"


@pytest.fixture
def address(kafka_node: KafkaNode) -> str:
    return kafka_node.address


@pytest.fixture
def kafka(kafka_node: KafkaNode) -> Iterator[Cluster]:
    with connected(kafka_node.port) as cluster:
        yield cluster


def job_of(address: str, topic: str, folder: Path, kind: str, **source: Any) -> Job:
    given = {"bootstrap_servers": address, "topics": [topic], **source}
    content = {
        "name": topic,
        "trigger": "100ms",
        "source": given,
        "value": {"format": "json", "schema": SCHEMA},
        "table": {"path": "rows", "format": kind},
    }
    return read_job(content, folder)


def run_once(job: Job, spark: "SparkSession") -> None:
    sink = Sink(job, lambda: spark, progress=Progress(io.StringIO()))
    try:
        sink.prepare()
        sink.run(once=True)
    finally:
        sink.close()


@contextmanager
def running(job: Job, spark: "SparkSession") -> Iterator[None]:
    """The job goes on for a while."""
    sink = Sink(job, lambda: spark, progress=Progress(io.StringIO()))
    sink.prepare()
    errors: list[Exception] = []

    def run() -> None:
        try:
            sink.run(once=False)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        sink.stop()
        thread.join()
        sink.close()
    assert errors == []


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.1)


def check(kind: str, folder: Path, count: int) -> None:
    for reader in READERS[kind]:
        assert rows_of(reader, folder / "rows", "id") == good(count), reader
        letters = rows_of(reader, folder / "rows-dead-letters", "value")
        assert letters == bad(count), reader


def send_aborted(address: str, topic: str) -> None:
    """Records that nobody who reads committed ones sees."""
    producer = Producer({"bootstrap.servers": address, "transactional.id": topic})
    producer.init_transactions(60)
    producer.begin_transaction()
    for partition in range(3):
        producer.produce(topic, b'{"id": -1}', partition=partition)
    producer.flush(60)
    producer.abort_transaction(60)


@pytest.mark.long
def test_a_stream_outlives_its_broker_and_leaves_out_what_is_aborted(
    spark: "SparkSession", kafka_node: KafkaNode, topic: str, tmp_path: Path
) -> None:
    address, committed = kafka_node.address, {"isolation_level": "read_committed"}
    create(address, topic, 3)
    send_aborted(address, topic)
    send_rows(address, topic, 0, 300)
    send_aborted(address, topic)
    job = job_of(address, topic, tmp_path, "parquet", **committed)

    def has(count: int) -> bool:
        return rows_of("pandas", tmp_path / "rows", "id") == good(count)

    with running(job, spark):
        wait_until(lambda: has(300))
        kafka_node.kill()
        kafka_node.start()
        send_rows(address, topic, 300, 300)
        send_aborted(address, topic)
        wait_until(lambda: has(600))
    run_once(job, spark)  # what may have been left when it was stopped
    check("parquet", tmp_path, 600)
    with connected(kafka_node.port) as cluster:
        shown = committed_offsets(cluster, job.group)
    # Three transactions with a record and a marker in each partition.
    assert sum(each.offset for each in shown.values()) == 600 + 3 * 3 * 2
    status = job_status(job)
    assert (status.lag, status.cluster_error) == (0, "")


class Dies(JobError):
    """A driver that comes to its end."""


def dying(step: Step) -> Callable[[Step], None]:
    def at_step(reached: Step) -> None:
        if reached is step:
            raise Dies(step.value)

    return at_step


@pytest.mark.long
def test_a_sink_of_delta_and_what_is_done_with_its_table(
    spark: "SparkSession",
    address: str,
    kafka: Cluster,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    create(address, topic, 3)
    limit = {"max_offsets_per_trigger": 200}
    job = job_of(address, topic, tmp_path, "delta", **limit)
    count = 0
    for step in STEPS if IS_LONG else [Step.DEAD_LETTERS_COMMITTED]:
        send_rows(address, topic, count, 300)
        count += 300
        dies = partial(JobCommitter, at_step=dying(step))
        monkeypatch.setattr(sink_module, "JobCommitter", dies)
        with pytest.raises(Dies):
            run_once(job, spark)
        monkeypatch.undo()
        run_once(job, spark)
        assert lose_last_commit(tmp_path)
    check("delta", tmp_path, count)

    done = compact(job.table_path)
    assert done.files_after < done.files_before
    replay(spark, address, kafka, topic, tmp_path, bad(count))
    send_rows(address, topic, count, 100)
    run_once(job, spark)
    check("delta", tmp_path, count + 100)
    stops(job, address, kafka)


def replay(
    spark: "SparkSession",
    address: str,
    kafka: Cluster,
    topic: str,
    folder: Path,
    expected: list[bytes],
) -> None:
    """The dead letters of the sink go to another topic, each once."""
    again = f"{topic}-again"
    create(address, again, 3)
    letters = TableSource("delta", str(folder / "rows-dead-letters"), {})
    wanted = Replay(topic=topic, keeps_partition=True)
    counts = []
    for _ in range(2):
        with Loader(spark, LoadJob(f"replay-{topic}", again, address)) as loader:
            loaded = load_table(
                spark, loader, letters, wanted.columns, change=wanted.rows
            )
            counts.append(sum(each.records for each in loaded))
    assert counts == [len(expected), 0]
    settle(kafka, again)
    records = [each for n in range(3) for each in records_in(kafka, again, n)]
    assert sorted(each.value or b"" for each in records) == expected
    assert {each.headers[0][0] for each in records} == {HEADER}


def stops(job: Job, address: str, kafka: Cluster) -> None:
    """Records that are removed before they are read, and another topic."""
    (topic,) = job.source.topics
    end = committed_offsets(kafka, job.group)[TopicPartition(topic, 0)].offset
    send(address, topic, [b'{"id": 1}'] * 9)
    delete_records(kafka, {TopicPartition(topic, 0): end + 5})
    refuses(job, "retention removed 5 offsets")
    delete(address, topic)
    create(address, topic, 3)
    refuses(job, "deleted and created again")


def refuses(job: Job, reason: str) -> None:
    sink = Sink(job, no_spark)
    with pytest.raises(JobStopped, match=reason):
        sink.prepare()
    sink.close()


def no_spark() -> "SparkSession":
    raise AssertionError("it is said without Spark")


def test_an_export_by_answers_and_by_segments(
    spark: "SparkSession", kafka_node: KafkaNode, topic: str, tmp_path: Path
) -> None:
    create(kafka_node.address, topic, 3)
    send_rows(kafka_node.address, topic, 0, 200)
    for kind, path in ("parquet", ""), ("iceberg", str(kafka_node.data_dir)):
        folder = tmp_path / kind
        export = Export(
            Source(kafka_node.address, (topic,), path=path),
            ValueFormat("json", schema=SCHEMA),
            table_path=str(folder / "rows"),
            table_format=kind,
            dead_letters=str(folder / "rows-dead-letters"),
        )
        commit = run_export(export, lambda: spark, Progress(io.StringIO()))
        assert {each.topic_id for each in commit.ranges} != {""}
        assert all(each.leader_epoch >= 0 for each in commit.ranges)
        check(kind, folder, 200)
        again = run_export(export, no_spark, Progress(io.StringIO()))
        assert again == commit


def test_a_batch_that_rotted_on_its_disk(
    spark: "SparkSession", kafka_node: KafkaNode, topic: str
) -> None:
    """Apache Kafka hands it out as it is."""
    create(kafka_node.address, topic)
    for number in range(3):
        send(kafka_node.address, topic, [b"%d" % number] * 10)
    (log,) = kafka_node.data_dir.glob(f"{topic}-0/*.log")
    size = log.stat().st_size
    with log.open("r+b") as file:
        file.seek(size // 2)
        (byte,) = file.read(1)
        file.seek(size // 2)
        file.write(bytes([byte ^ 1]))
    reader = spark.read.format("odradek").option("subscribe", topic)
    reader = reader.option("kafka.bootstrap.servers", kafka_node.address)
    with pytest.raises(Exception, match=r"from 10 on are damaged.*onCorrupt"):
        reader.load().collect()
    rows = reader.option("onCorrupt", "skip").load().select("offset").collect()
    assert sorted(row.offset for row in rows) == [*range(10), *range(20, 30)]


def test_all_is_well(spark: "SparkSession", kafka_node: KafkaNode) -> None:
    found = examine(lambda: spark, [Address("127.0.0.1", kafka_node.port)])
    assert [each for each in found if not each.is_ok] == []

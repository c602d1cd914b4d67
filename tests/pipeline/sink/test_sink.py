"""The streaming job: what it refuses before Spark is there, and what it writes."""

import base64
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow.parquet as pq
import pytest

from odradek.client.cluster import Cluster
from odradek.client.group_offsets import committed_offsets
from odradek.client.records_deletion import delete_records
from odradek.pipeline.job_errors import JobError, JobStopped, TooManyDeadLetters
from odradek.pipeline.jobs.job_file import Job, read_job
from odradek.pipeline.sink.checkpoint import Checkpoint
from odradek.pipeline.sink.sink import Sink
from odradek.pipeline.sink.status import job_status, status_lines
from odradek.protocol.topic_partition import TopicPartition
from odradek.terminal.progress import Progress
from tests.broker_process import BrokerProcess
from tests.pipeline.fake_registry import FakeRegistry
from tests.pipeline.fake_spark import FakeSpark
from tests.pipeline.feeding import create, delete, send
from tests.pipeline.sink_process import bad, good, send_rows
from tests.pipeline.table_readers import rows_of
from tests.pipeline.values.test_avro import NEW, OLD, encoded
from tests.pipeline.values.test_protobuf import order, order_file
from tests.sampling import sampled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
            "source": {
                "bootstrap_servers": address,
                "topics": [topic],
                "small_batch_records": 100,  # the others are written by tasks
            },
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


def descriptions(spark: "SparkSession") -> set[str]:
    """What Spark's pages call its jobs."""
    store = cast("Any", spark.sparkContext)._jsc.sc().statusStore()
    jobs = store.jobsList(None)
    found = (jobs.apply(number).description() for number in range(jobs.size()))
    return {each.get() for each in found if each.isDefined()}


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
    *_, step = once(this, spark)
    assert (step["records"], step["dead_letters"], step["remaining"]) == (300, 6, 0)
    assert rows_of("duckdb", tmp_path / "rows", "id") == good(300)
    assert rows_of("duckdb", tmp_path / "rows-dead-letters", "value") == bad(300)
    said = f"{topic}: batch 0, 300 offsets of 3 partitions to {tmp_path / 'rows'}"
    assert said in descriptions(spark)
    group = committed_offsets(cluster, this.group)
    assert sum(each.offset for each in group.values()) == 300

    send_rows(address, topic, 300, 30)
    status = job_status(this)
    assert (status.lag, status.planned, status.done) == (30, 0, 0)
    assert any("total lag: 30" in line for line in status_lines(status))
    assert status.as_json()["partitions"][2]["committed"] == 100
    assert sum(each["lag"] for each in status.as_json()["partitions"]) == 30
    assert status.as_json()["rates"]["arriving_per_s"] is not None

    # A checkpoint that is lost, made anew; then one that is older than the table.
    checkpoint = Path(this.checkpoint)
    first = tmp_path / "first"
    checkpoint.rename(first)
    with pytest.raises(JobStopped, match=r"lost or empty.*--rebuild-checkpoint"):
        prepare(this)
    assert [step["step"] for step in once(this, spark, rebuild_checkpoint=True)] == [
        "rebuilt checkpoint",
        "dead letters",
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


def described(root: Path) -> Job:
    """A job whose broker nobody asks."""
    content = {"name": "j", "source": {"topics": ["t"]}, "table": {"path": "rows"}}
    return read_job(content, root)


def test_a_fault_of_ours_ends_the_job_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Here a line of the checkpoint that is no JSON, which nobody has thought of."""
    this = described(tmp_path)
    planned = Path(this.checkpoint) / "offsets" / "0"
    planned.parent.mkdir(parents=True)
    planned.write_text("v1\n{}\n{t:")
    spark = FakeSpark([lambda run_batch: run_batch(None, 0)])
    sink = Sink(this, spark.open, progress=Progress(io.StringIO()), pause=no_pause)
    with pytest.raises(JobError, match="JSONDecodeError: Expecting property name"):
        sink.run(once=True)
    sink.close()
    assert spark.started == 1
    assert "in of_text" in caplog.text  # where it was


def test_what_is_away_is_asked_again_until_it_is_too_long(tmp_path: Path) -> None:
    def away(_: Callable[..., None]) -> None:
        raise RuntimeError("x\n\tclient.errors.Unreachable: 127.0.0.1:1: refused")

    said, pauses = io.StringIO(), list[float]()
    spark = FakeSpark([away, away, lambda _: None])
    sink = Sink(
        described(tmp_path),
        spark.open,
        progress=Progress(said),
        pause=pauses.append,
    )
    sink.run(once=True)
    sink.close()
    assert pauses == [0.5, 1]
    told = [json.loads(line) for line in said.getvalue().splitlines()]
    assert [line["reason"] for line in told] == ["127.0.0.1:1: refused"] * 2

    spark = FakeSpark([away])
    sink = Sink(described(tmp_path), spark.open, give_up_after_s=0, pause=no_pause)
    with pytest.raises(JobError, match="refused"):
        sink.run(once=True)
    sink.close()


def test_a_spark_that_is_ended_with_its_sink_has_not_failed(tmp_path: Path) -> None:
    """A signal for all processes of a job reaches Spark's too."""
    for error in (RuntimeError("SparkContext was shut down"), ConnectionError("reset")):
        run_until(tmp_path, error, is_stopped=True)
        with pytest.raises(JobError):
            run_until(tmp_path, error, is_stopped=False)


def run_until(tmp_path: Path, error: Exception, *, is_stopped: bool) -> None:
    """Spark fails with the error; perhaps just when the sink was asked to end."""

    def ended(_: Callable[..., None]) -> None:
        if is_stopped:
            sink.stop()
        raise error

    spark = FakeSpark([ended])
    sink = Sink(described(tmp_path), spark.open, pause=no_pause)
    try:
        sink.run(once=False)
    finally:
        sink.close()


def no_pause(_: float) -> None:
    raise AssertionError("it is not tried again")


def test_topic_that_is_not_there(
    job: Callable[..., Job], broker_process: BrokerProcess, topic: str
) -> None:
    create(broker_process.address, f"{topic}s")
    helps = rf"brokers: 127.*Did you mean {topic}s\?.*odradek topic list"
    with pytest.raises(JobError, match=helps):
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


def test_one_word_chooses_what_reads_and_a_path_reads_segments(
    job: Callable[..., Job],
    spark: "SparkSession",
    kafka_connector: str,
    broker_process: BrokerProcess,
    topic: str,
    tmp_path: Path,
) -> None:
    """The same job goes on, whichever of them has read its last batch."""
    create(broker_process.address, topic, 3)
    path = str(broker_process.data_dir)
    for turn, source in enumerate(
        [{"format": kafka_connector}, {"format": "odradek"}, {"path": path}], start=1
    ):
        send_rows(broker_process.address, topic, 100 * (turn - 1), 100)
        *_, step = once(job(source=source), spark)
        assert step["batch"] == turn - 1
        assert rows_of("duckdb", tmp_path / "rows", "id") == good(100 * turn)
    letters = rows_of("duckdb", tmp_path / "rows-dead-letters", "value")
    assert letters == bad(300)


def test_an_option_that_there_is_not(
    job: Callable[..., Job],
    spark: "SparkSession",
    broker_process: BrokerProcess,
    topic: str,
) -> None:
    create(broker_process.address, topic)
    wrong = job(source={"options": {"minPartitons": 3}})
    with pytest.raises(JobStopped, match=r"^Option minpartitons: .* minPartitions\?$"):
        once(wrong, spark)


@pytest.mark.parametrize("kind", sampled(["avro", "protobuf"], "avro"))
def test_values_whose_schemas_are_in_a_registry(
    kind: str,
    job: Callable[..., Job],
    spark: "SparkSession",
    broker_process: BrokerProcess,
    topic: str,
    tmp_path: Path,
) -> None:
    """Written by an older and a newer producer, and by one that nobody knows."""
    create(broker_process.address, topic)
    schemas, values = REGISTERED[kind]()
    send(broker_process.address, topic, [*values, b"\0\0\0\0\x63?", b"{}", None])
    with FakeRegistry(schemas, {"orders-value": 2}) as registry:
        value = {"format": kind, "registry": registry.url, "subject": "orders-value"}
        this = job(value={**value, "schema": ""})
        *_, step = once(this, spark)
    assert (step["records"], step["dead_letters"]) == (7, 2)
    rows = pq.read_table(tmp_path / "rows").sort_by("_offset").to_pylist()
    found = [(row["id"], row["customer"] or None) for row in rows]
    assert found == [(0, None), (1, None), (2, "c2"), (3, "c3"), (None, None)]


def avro() -> tuple[dict[int, Any], list[bytes]]:
    new = [encoded(NEW, 2, id=n, customer=f"c{n}") for n in (2, 3)]
    return {1: OLD, 2: NEW}, [*(encoded(OLD, 1, id=n) for n in (0, 1)), *new]


def protobuf() -> tuple[dict[int, Any], list[bytes]]:
    """One file; its second message, as the indexes behind the id say."""
    file = order_file()
    del file.message_type[0]
    text = base64.b64encode(file.SerializeToString()).decode()
    found = [
        b"\0\0\0\0\x02\0" + order(id=n, customer=f"c{n}" if n > 1 else "")
        for n in range(4)
    ]
    return {2: text}, found


REGISTERED = {"avro": avro, "protobuf": protobuf}

"""Jobs at Apache Kafka over TLS, with logins that end; and what a job leaves behind.

Each takes a JVM of its own.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient

from odradek.client.producer import Producer
from odradek.client.topics import NewTopic, create_topic
from odradek.pipeline.commands.load import command as load
from odradek.protocol.records import NewRecord
from tests.apache_kafka import jars
from tests.apache_kafka.secure_node import PASSWORD, SecureKafka, running_secure_kafka
from tests.client.live import connected
from tests.client.test_producer import records_in
from tests.patience import PATIENCE_S
from tests.pipeline.conftest import skip_or_fail
from tests.pipeline.secure_broker import (
    MARKER,
    SecureBroker,
    grant,
    running_secure_broker,
)
from tests.pipeline.test_secure_cluster import VALUES, job_file, nothing_in, nowhere

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SESSION_S = 1.5
Captured = pytest.CaptureFixture[str]
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    """Where who has no password may do everything, and alice nothing yet."""
    skip_or_fail(jars.missing())
    options = {
        "listener.name.sasl_ssl.connections.max.reauth.ms": str(int(SESSION_S * 1000)),
        "log.retention.ms": "-1",
        "authorizer.class.name": (
            "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
        ),
        "super.users": "User:ANONYMOUS",
    }
    with running_secure_kafka(tmp_path_factory.mktemp("kafka"), options) as node:
        yield node


def client_file(kafka: SecureKafka, path: Path) -> Path:
    secret = path.with_name("secrets.properties")
    escaped = PASSWORD.replace("ä", "\\u00e4")
    secret.write_text(f"password={escaped}\n")
    options = kafka.client_options(
        "SASL_SSL",
        sasl_mechanism="SCRAM-SHA-512",
        sasl_username="alice",
        sasl_password=f"${{file:{secret}:password}}",
    )
    path.write_text("".join(f"{name}={text}\n" for name, text in options.items()))
    return path


def send(kafka: SecureKafka, topic: str, count: int) -> None:
    with connected(kafka.port) as cluster, Producer(cluster) as producer:
        for _ in range(count):
            producer.send(topic, NewRecord(None, b"value", int(time.time() * 1000)), 0)


@pytest.mark.usefixtures("shared_spark")
def test_both_ways_at_apache_kafka(
    spark: "SparkSession",
    kafka: SecureKafka,
    topic: str,
    tmp_path: Path,
    capsys: Captured,
) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    config = client_file(kafka, tmp_path / "client.properties")
    with connected(kafka.port) as cluster:
        create_topic(cluster, NewTopic(topic, 1))
    table = tmp_path / "in"
    table.mkdir()
    pyarrow.parquet.write_table(pa.table({"id": range(50)}), table / "part.parquet")
    given = ["--table", str(table), "--topic", topic, "--job", topic]
    given += ["--command-config", str(config)]
    assert load(given) == 1
    said = capsys.readouterr().err
    assert "User:alice has no right to" in said
    assert f"on topic {topic}" in said
    admin = AdminClient({"bootstrap.servers": kafka.address})
    grant(admin, "topic", topic, "READ", "WRITE", "DESCRIBE_CONFIGS")
    rights = ("READ", "WRITE", "CREATE", "DESCRIBE_CONFIGS")
    grant(admin, "topic", "odradek-load-", *rights)
    grant(admin, "transactional id", topic, "WRITE")
    grant(admin, "group", "load-", "READ")
    assert load(given) == 0, capsys.readouterr().err
    with connected(kafka.port) as cluster:
        assert len(list(records_in(cluster, topic, 0))) == 50
    stream_outlives_its_logins(spark, kafka, topic, config)
    nothing_in(tmp_path)
    config.write_text(config.read_text().replace("=alice", "=bob"))
    assert load([*given[:-4], "--job", "other", *given[-2:]]) == 1
    said = capsys.readouterr().err
    assert "The broker does not let User:bob (by SCRAM-SHA-512) in" in said


def stream_outlives_its_logins(
    spark: "SparkSession", kafka: SecureKafka, topic: str, config: Path
) -> None:
    counts: list[int] = []

    def take(rows: "DataFrame", _: int) -> None:
        counts.append(rows.count())

    reader = spark.readStream.format("odradek").option("subscribe", topic)
    reader = reader.option("commandConfig", str(config))
    query = (
        reader.option("startingOffsets", "earliest")
        .option("kafka.isolation.level", "read_committed")
        .load()
        .writeStream.foreachBatch(take)
        .option("checkpointLocation", str(config.with_name("checkpoint")))
        .trigger(processingTime="100 milliseconds")
        .start()
    )
    try:
        begun_s, wanted = time.monotonic(), 50
        while time.monotonic() < begun_s + 3 * SESSION_S:
            send(kafka, topic, 10)
            wanted += 10
            deadline = time.monotonic() + PATIENCE_S
            while sum(counts) < wanted:
                assert query.isActive, query.exception()
                assert time.monotonic() < deadline, counts
                time.sleep(0.05)
    finally:
        query.stop()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    with running_secure_broker(tmp_path_factory.mktemp("secure")) as running:
        yield running


class CommandLines:
    """All that anybody on this machine sees of what runs, while something does."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self._is_done = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> "CommandLines":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._is_done.wait(0.05):
            for each in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    line = each.read_bytes().replace(b"\0", b" ")
                except OSError:  # it has ended
                    continue
                self.seen.add(line.decode(errors="replace"))


@pytest.mark.usefixtures("spark_java")
@pytest.mark.parametrize("fails", [False, True], ids=["whole", "failing"])
def test_what_a_job_leaves_behind(
    broker: SecureBroker, topic: str, tmp_path: Path, fails: bool
) -> None:
    broker.create(topic)
    broker.send(topic, VALUES)
    broker.grant("topic", topic, "DESCRIBE" if fails else "READ")
    broker.grant("group", f"sink-{topic}", "READ")
    broker.client_file(tmp_path / "client.properties", sasl_password="${env:ALICE}")
    events = tmp_path / "events"
    events.mkdir()
    job = job_file(
        tmp_path, topic, command_config="client.properties", small_batch_records=0
    )
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.local.dir": str(tmp_path / "local"),
        "spark.log.level": "INFO",
    }
    lines = [f'"{name}" = {json.dumps(value)}' for name, value in conf.items()]
    job.write_text("\n".join([job.read_text(), "[spark.conf]", *lines]))
    command = [sys.executable, "-m", "odradek", "pipeline", "sink", "once", str(job)]
    environment = {**os.environ, "ALICE": MARKER}
    with CommandLines() as looked:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        )
    nowhere(done.stdout + done.stderr)
    assert done.returncode == fails, done.stderr
    if fails:
        assert f"User:alice has no right to Read on topic {topic}" in done.stderr
    (found,) = events.rglob("events_*")
    assert topic in found.read_text(), "the event log tells of the job"
    nothing_in(tmp_path)
    assert any("sink once" in line for line in looked.seen)
    nowhere("\n".join(looked.seen))

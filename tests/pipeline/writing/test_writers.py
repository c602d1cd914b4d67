"""Rows that Spark writes are in their topics, as producers in Java would have them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from odradek.client.cluster import Cluster
from odradek.pipeline.errors import SourceError
from odradek.pipeline.writing.options import BOOTSTRAP, read_write_options
from odradek.pipeline.writing.writers import (
    Sent,
    batch_writer,
    send,
    stream_writer,
    warn_of,
)
from odradek.protocol.murmur2 import partition_of_key
from tests.broker_process import BrokerProcess
from tests.client.live import create_topic
from tests.pipeline.feeding import create
from tests.pipeline.feeding import send as feed

from .test_rows import schema_of

SCHEMA = schema_of("value string")


@pytest.mark.parametrize("make", [batch_writer, stream_writer])
def test_what_is_refused_before_a_task_runs(make: Any) -> None:
    given = {BOOTSTRAP: "a:1", "topic": "t"}
    with pytest.raises(SourceError, match="are not replaced by others"):
        make(given, SCHEMA, overwrite=True)
    with pytest.raises(SourceError, match="Rows need a column value"):
        make(given, schema_of("id int"), overwrite=False)
    make(given, SCHEMA, overwrite=False)


def batches(*values: str, partition: int | None = None) -> Iterator[pa.RecordBatch]:
    for value in values:
        columns = {"value": pa.array([value]), "key": pa.array([None], pa.string())}
        if partition is not None:
            columns["partition"] = pa.array([partition], pa.int32())
        yield pa.RecordBatch.from_pydict(columns)


def test_a_task_sends_rows_of_many_batches(
    broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> None:
    create_topic(cluster, topic, 3)
    options = read_write_options({BOOTSTRAP: broker_process.address, "topic": topic})
    assert send(options, batches(*map(str, range(50)))) == Sent(50)
    assert send(options, iter(())) == Sent(0)
    with pytest.raises(SourceError, match="a row wants partition 3; the topic has 3"):
        send(options, batches("x", partition=3))


def test_a_broker_that_is_away() -> None:
    given = {BOOTSTRAP: "127.0.0.1:1", "topic": "t", "kafka.request.timeout.ms": "200"}
    with pytest.raises(SourceError, match=r"127\.0\.0\.1:1"):
        send(read_write_options(given), batches("x"))


def test_what_failed_is_in_part_there(caplog: pytest.LogCaptureFixture) -> None:
    warn_of([Sent(3), None, Sent(4)])
    assert "7 records of it are in their topics" in caplog.text


def test_a_query_is_written_and_read_back(
    spark: SparkSession, broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> None:
    create_topic(cluster, topic, 4)
    made = spark.range(1000).selectExpr(
        "concat('k', id % 10) AS key",
        "cast(id AS string) AS value",
        "array(named_struct('key', 'n', 'value', cast('x' AS binary))) AS headers",
        "id",
    )
    writer = made.write.format("odradek").mode("append")
    writer = writer.option(BOOTSTRAP, broker_process.address).option("topic", topic)
    writer.option("kafka.compression.type", "lz4").save()
    read = spark.read.format("odradek").option(BOOTSTRAP, broker_process.address)
    found = read.option("subscribe", topic).option("includeHeaders", "true").load()
    rows = found.collect()
    assert sorted(int(bytes(row.value)) for row in rows) == list(range(1000))
    for row in rows:
        assert row.partition == partition_of_key(bytes(row.key), 4)
        assert [each.key for each in row.headers] == ["n"]
    with pytest.raises(PySparkException, match="Give the option topic"):
        made.write.format("odradek").mode("append").option(
            BOOTSTRAP, broker_process.address
        ).save()


def test_a_stream_goes_from_topic_to_topic(
    spark: SparkSession,
    broker_process: BrokerProcess,
    topic: str,
    tmp_path: Path,
) -> None:
    address, copy = broker_process.address, f"{topic}-copy"
    create(address, topic, 2)
    create(address, copy, 1)
    for partition in range(2):
        values = [json.dumps({"n": n}).encode() for n in range(20)]
        feed(address, topic, values, partition)

    def once() -> list[str]:
        source = spark.readStream.format("odradek").option(BOOTSTRAP, address)
        source = source.option("subscribe", topic).option("startingOffsets", "earliest")
        changed = source.load().selectExpr(
            "key", "upper(cast(value AS string)) AS value", f"'{copy}' AS topic"
        )
        query = changed.writeStream.format("odradek").option(BOOTSTRAP, address)
        query = query.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = query.queryName("copies")
        query.trigger(availableNow=True).start().awaitTermination()
        read = spark.read.format("odradek").option(BOOTSTRAP, address)
        rows = read.option("subscribe", copy).load().collect()
        return sorted(bytes(row.value).decode() for row in rows)

    expected = sorted(json.dumps({"N": n}) for n in range(20)) * 2
    assert once() == sorted(expected)
    assert once() == sorted(expected)  # there is nothing new
    feed(address, topic, [b"x"])
    assert once() == sorted([*expected, "X"])

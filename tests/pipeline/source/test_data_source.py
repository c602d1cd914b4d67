"""Topics read in one go, by Spark as its users start it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from odradek.client.cluster import Cluster
from tests.broker_process import BrokerProcess, running_broker
from tests.client.live import create_topic, produce
from tests.pipeline import feeding


def read(
    spark: SparkSession,
    broker: BrokerProcess,
    schema: str | None = None,
    **options: Any,
) -> DataFrame:
    reader = spark.read.format("odradek")
    reader = reader.option("kafka.bootstrap.servers", broker.address)
    for name, value in options.items():
        text = value if isinstance(value, str) else json.dumps(value)
        reader = reader.option(name.replace("__", "."), text)
    return (reader.schema(schema) if schema else reader).load()


def offsets(frame: DataFrame) -> list[tuple[int, int]]:
    rows = frame.select("partition", "offset").collect()
    return sorted((row.partition, row.offset) for row in rows)


def test_all_of_a_topic(
    spark: SparkSession, broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> None:
    create_topic(cluster, topic, 2)
    produce(cluster, topic, 0, [1000, 2000])
    produce(cluster, topic, 1, [3000])
    frame = read(spark, broker_process, subscribe=topic, includeHeaders=True)
    assert offsets(frame) == [(0, 0), (0, 1), (1, 0)]
    row = frame.where("partition = 1").collect()[0]
    assert (bytes(row.key), row.topic, row.headers) == (b"key", topic, None)
    assert row.timestamp.timestamp() == 3


def test_only_the_columns_of_a_schema(
    spark: SparkSession, broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> None:
    create_topic(cluster, topic, 1)
    produce(cluster, topic, 0, [1000, 2000])
    schema = "offset bigint, value binary"
    frame = read(spark, broker_process, schema, subscribe=topic)
    assert [tuple(row) for row in frame.orderBy("offset").collect()] == [
        (0, b"value"),
        (1, b"value"),
    ]


def test_a_row_for_each_batch(
    spark: SparkSession, broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> None:
    create_topic(cluster, topic, 1)
    for count in (3, 1, 2):
        produce(cluster, topic, 0, range(count))
    rows = read(spark, broker_process, subscribe=topic, mode="batches").collect()
    found = sorted((row.baseOffset, row.lastOffset, row.records) for row in rows)
    assert found == [(0, 2, 3), (3, 3, 1), (4, 5, 2)]


@pytest.fixture
def pushing(spark: SparkSession) -> Iterator[None]:
    """Spark tells readers of filters for a while."""
    name = "spark.sql.python.filterPushdown.enabled"
    spark.conf.set(name, "true")
    yield
    spark.conf.unset(name)


def test_filters_are_bounds_of_what_is_read(
    spark: SparkSession,
    broker_process: BrokerProcess,
    cluster: Cluster,
    topic: str,
    pushing: None,
) -> None:
    create_topic(cluster, topic, 2)
    for partition in (0, 1):
        produce(cluster, topic, partition, range(1000, 21_000, 1000))
    frame = read(spark, broker_process, subscribe=topic, pushdown=True)
    found = frame.where(
        (col("offset") >= 5) & (col("offset") < 8) & ~(col("key") == b"")
    )
    assert offsets(found) == [(p, n) for p in (0, 1) for n in (5, 6, 7)]
    one = frame.where("partition = 1 and timestamp >= timestamp '1970-01-01 00:00:18'")
    assert offsets(one) == [(1, 17), (1, 18), (1, 19)]
    assert one.rdd.getNumPartitions() == 1
    assert frame.where("partition = 7").count() == 0


def test_segments_are_read_past_a_running_and_a_stopped_broker(
    spark: SparkSession, tmp_path: Path
) -> None:
    with running_broker(tmp_path / "data") as broker:
        feeding.feed_shapes(broker.address, "shapes")
        options = {"subscribe": "shapes", "includeHeaders": True}
        wire = read(spark, broker, **options)
        expected = sorted(map(repr, wire.collect()))
        assert len(expected) == 300
        beside = read(spark, broker, path=str(broker.data_dir), **options)
        assert sorted(map(repr, beside.collect())) == expected
        reader = spark.read.format("odradek").options(**options)
        with pytest.raises(PySparkException, match="not stopped cleanly"):
            reader.load(str(broker.data_dir)).count()
        broker.terminate()
        assert (
            sorted(map(repr, reader.load(str(broker.data_dir)).collect())) == expected
        )


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            {"subscribe": "invioces"},
            r"There is no topic invioces\. Did you mean invoices\?",
        ),
        (
            {"subscribe": "invoices", "startingOfsets": "x"},
            "Did you mean startingOffsets",
        ),
        (
            {"subscribe": "invoices", "endingOffsets": {"invoices": {"0": 9}}},
            r"invoices-0 has the offsets from 0 to 2, and 9 was.*failOnDataLoss=false",
        ),
        (
            {"subscribe": "invoices", "kafka__bootstrap__servers": "127.0.0.1:1"},
            r"does not answer.*127\.0\.0\.1:1.*kafka\.bootstrap\.servers",
        ),
    ],
)
def test_mistakes_are_told_to_the_user_of_spark(
    spark: SparkSession,
    broker_process: BrokerProcess,
    cluster: Cluster,
    options: dict[str, Any],
    reason: str,
) -> None:
    if "invoices" not in cluster.metadata().topics:
        create_topic(cluster, "invoices", 1)
        produce(cluster, "invoices", 0, [1, 2])
    with pytest.raises(PySparkException, match=reason):
        read(spark, broker_process, **options).count()


def test_nothing_of_spark_is_loaded_before_it_is_needed() -> None:
    program = (
        "import sys, pyspark_odradek\n"
        "assert not any(name.split('.')[0] == 'pyspark' for name in sys.modules)\n"
        "print(pyspark_odradek.DefaultSource.name(), hasattr(pyspark_odradek, 'x'))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True
    )
    assert run.stdout == "odradek False\n", run.stderr


def test_a_worker_does_not_load_pandas() -> None:
    """Which takes longer than all else that it loads."""
    program = (
        "import sys, odradek.pipeline.source.data_source\n"
        "import odradek.pipeline.source.stream_source\n"
        "from odradek.protocol.topic_partition import TopicPartition\n"
        "from odradek.pipeline.records.columns import RecordColumns\n"
        "from odradek.pipeline.records.records_arrow import RecordsToArrow\n"
        "columns = RecordColumns.of(include_headers=True)\n"
        "RecordsToArrow(TopicPartition('t', 0), columns)\n"
        "print('pandas' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True
    )
    assert run.stdout == "False\n", run.stderr

"""Spark's own Kafka connector works here, and our source reads what it reads.

Every test runs against odradek and against Apache Kafka itself.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from tests.pipeline import feeding
from tests.pipeline.feeding import TIME_MS
from tests.sampling import sampled

WORDS = ("kafka", "odradek")

pytestmark = pytest.mark.usefixtures("kafka_connector")


class Fed(NamedTuple):
    """A broker with the topics of these tests, and who it is."""

    name: str
    address: str


def address_of(broker: str, request: pytest.FixtureRequest) -> str:
    name = {"odradek": "broker_process", "apache-kafka": "kafka_node"}[broker]
    return str(request.getfixturevalue(name).address)


@pytest.fixture(scope="package", params=sampled(["odradek", "apache-kafka"], "odradek"))
def fed(request: pytest.FixtureRequest) -> Fed:
    address = address_of(request.param, request)
    feeding.feed_shapes(address, "shapes")
    feeding.feed_transactions(address, "transactions")
    feeding.create(address, "appended", 1, {"message.timestamp.type": "LogAppendTime"})
    feeding.send(address, "appended", [b"a", b"b"])
    feeding.create(address, "shapes-empty", 2)
    return Fed(request.param, address)


def read(spark: SparkSession, word: str, address: str, options: Any) -> DataFrame:
    reader = spark.read.format(word).option("kafka.bootstrap.servers", address)
    for name, value in options.items():
        text = value if isinstance(value, str) else json.dumps(value)
        reader = reader.option(name, text)
    return reader.load()


def rows_of(frame: DataFrame) -> list[Any]:
    found = [row.asDict(recursive=True) for row in frame.collect()]
    return sorted(
        found, key=lambda row: (row["topic"], row["partition"], row["offset"])
    )


BATCHES: dict[str, dict[str, Any]] = {
    "all": {"subscribe": "shapes"},
    "headers": {"subscribe": "shapes", "includeHeaders": True},
    "two topics": {"subscribe": "shapes, transactions", "includeHeaders": True},
    "pattern": {"subscribePattern": "shap.*"},
    "pattern of nothing": {"subscribePattern": "no-such-.*"},
    "assigned": {"assign": {"shapes": [0, 2]}},
    "offsets": {
        "subscribe": "shapes",
        "startingOffsets": {"shapes": {"0": 11, "1": -2, "2": 99}},
        "endingOffsets": {"shapes": {"0": 37, "1": -1, "2": 100}},
    },
    "since a time": {"subscribe": "shapes", "startingTimestamp": str(TIME_MS + 255)},
    "between times": {
        "subscribe": "shapes",
        "startingTimestamp": str(TIME_MS + 100),
        "endingTimestamp": str(TIME_MS + 300),
    },
    "times of partitions": {
        "subscribe": "shapes",
        "startingOffsetsByTimestamp": {
            "shapes": {"0": TIME_MS + 200, "1": TIME_MS, "2": 0}
        },
        "endingOffsetsByTimestamp": {
            "shapes": {"0": TIME_MS + 10**9, "1": TIME_MS + 400, "2": TIME_MS}
        },
    },
    "after all times": {
        "subscribe": "shapes",
        "startingTimestamp": str(TIME_MS + 10**9),
        "startingOffsetsByTimestampStrategy": "latest",
    },
    "in many parts": {"subscribe": "shapes", "minPartitions": "7"},
    "in small parts": {"subscribe": "shapes", "maxRecordsPerPartition": "13"},
    "append time": {"subscribe": "appended"},
    "uncommitted": {"subscribe": "transactions"},
    "committed": {
        "subscribe": "transactions",
        "kafka.isolation.level": "read_committed",
    },
    "committed from within": {
        "assign": {"transactions": [0]},
        "startingOffsets": {"transactions": {"0": 11}},
        "endingOffsets": {"transactions": {"0": 19}},
        "kafka.isolation.level": "read_committed",
    },
}
# Others are close to one of them.
ALWAYS = ["two topics", "offsets", "times of partitions", "in many parts", "committed"]


@pytest.mark.parametrize("name", sampled(BATCHES, *ALWAYS))
def test_a_batch_is_the_same_whichever_word_reads_it(
    spark: SparkSession, fed: Fed, name: str
) -> None:
    theirs, ours = (read(spark, word, fed.address, BATCHES[name]) for word in WORDS)
    assert ours.schema == theirs.schema
    expected = rows_of(theirs)
    assert rows_of(ours) == expected
    assert bool(expected) == (name not in ("pattern of nothing", "after all times"))


def test_the_headers_are_what_was_written(spark: SparkSession, fed: Fed) -> None:
    for word in WORDS:
        options = BATCHES["headers"]
        frame = read(spark, word, fed.address, options).where("partition = 0")
        first, second = frame.orderBy("offset").limit(2).collect()
        assert first.headers is None
        assert [tuple(each) for each in second.headers] == [
            ("a", b"1"),
            ("a", None),
            ("", b""),
        ]


def test_what_is_aborted_is_not_read(spark: SparkSession, fed: Fed) -> None:
    for word in WORDS:
        for name, count in {"uncommitted": 45, "committed": 31}.items():
            assert read(spark, word, fed.address, BATCHES[name]).count() == count


class Stream(NamedTuple):
    """A query that copies what it reads into a table of Parquet files."""

    spark: SparkSession
    root: Path

    def drain(self, word: str, address: str, **options: Any) -> list[Any]:
        """Read all there is; returns everything that was ever read."""
        reader = self.spark.readStream.format(word)
        reader = reader.option("kafka.bootstrap.servers", address)
        for name, value in options.items():
            reader = reader.option(name, value)
        query = (
            reader.load()
            .writeStream.format("parquet")
            .option("checkpointLocation", str(self.root / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(self.root / "table"))
        )
        query.awaitTermination()
        return rows_of(self.spark.read.parquet(str(self.root / "table")))


@pytest.mark.parametrize(
    ("broker", "words"),
    [
        pytest.param("odradek", ("kafka", "kafka"), marks=pytest.mark.long),
        pytest.param("odradek", ("odradek", "odradek"), marks=pytest.mark.long),
        ("odradek", ("kafka", "odradek")),
        pytest.param("apache-kafka", ("kafka", "kafka"), marks=pytest.mark.long),
        pytest.param("apache-kafka", ("odradek", "odradek"), marks=pytest.mark.long),
        ("apache-kafka", ("kafka", "odradek")),
    ],
)
def test_a_stream_goes_on_from_its_checkpoint(
    spark: SparkSession,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    broker: str,
    words: tuple[str, str],
) -> None:
    """Also from one of the connector's, read on by our source."""
    address = address_of(broker, request)
    topic = f"stream-{'-'.join(words)}"
    feeding.create(address, topic, 2)
    stream = Stream(spark, tmp_path)
    options = {
        "subscribe": topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": 10,
    }
    count = 0
    # What is sent again, as no answer came in time, would be there twice.
    once = {"enable.idempotence": True}
    for word in words:
        feeding.send(address, topic, [b"x"] * 10, 0, **once)
        feeding.send(address, topic, [b"y"] * 5, 1, **once)
        count += 15
        found = stream.drain(word, address, **options)
        assert len(found) == count
    assert found == rows_of(read(spark, words[0], address, {"subscribe": topic}))


def test_the_connector_writes_a_batch(spark: SparkSession, fed: Fed) -> None:
    feeding.create(fed.address, "written", 2)
    frame = spark.range(100).select(
        col("id").cast("string").alias("key"), col("id").cast("string").alias("value")
    )
    frame.write.format("kafka").option("kafka.bootstrap.servers", fed.address).option(
        "topic", "written"
    ).save()
    for word in WORDS:
        found = read(spark, word, fed.address, {"subscribe": "written"})
        keys = found.select(col("key").cast("string")).collect()
        assert sorted(int(row.key) for row in keys) == list(range(100))


def test_the_connector_writes_a_stream(
    spark: SparkSession, fed: Fed, tmp_path: Path
) -> None:
    feeding.create(fed.address, "copy", 1)
    reader = spark.readStream.format("odradek").option("subscribe", "shapes")
    reader = reader.option("kafka.bootstrap.servers", fed.address)
    query = (
        reader.option("startingOffsets", "earliest")
        .option("includeHeaders", True)
        .load()
        .select("key", "value", "headers")
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", fed.address)
        .option("topic", "copy")
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    columns = ("key", "value", "headers")
    both = [
        sorted(
            repr(row)
            for row in read(
                spark,
                "odradek",
                fed.address,
                {"subscribe": topic, "includeHeaders": True},
            )
            .select(*columns)
            .collect()
        )
        for topic in ("shapes", "copy")
    ]
    assert len(both[0]) == 300
    assert both[0] == both[1]

"""Topics read as streams, by Spark as its users start it."""

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamReader

from client.cluster import Cluster
from client.group_offsets import committed_offsets
from protocol.topic_partition import TopicPartition
from tests.broker_process import BrokerProcess
from tests.client.live import create_topic, produce


def stream(
    spark: SparkSession, broker: BrokerProcess, word: str = "odradek", **options: Any
) -> DataStreamReader:
    reader = spark.readStream.format(word)
    reader = reader.option("kafka.bootstrap.servers", broker.address)
    for name, value in options.items():
        reader = reader.option(name.replace("__", "."), value)
    return reader


class Batches:
    """What a query was given: for each micro-batch its ranges of offsets."""

    def __init__(self) -> None:
        self.rows: dict[int, list[tuple[int, int]]] = {}

    def take(self, frame: DataFrame, batch_id: int) -> None:
        found = frame.select("partition", "offset").collect()
        self.rows[batch_id] = sorted((row.partition, row.offset) for row in found)

    @property
    def sizes(self) -> list[int]:
        return [len(rows) for _, rows in sorted(self.rows.items())]

    @property
    def all(self) -> list[tuple[int, int]]:
        return sorted(row for rows in self.rows.values() for row in rows)


def drain(reader: DataStreamReader, checkpoint: Path) -> Batches:
    """What there is to read until the topic is at its end."""
    batches = Batches()
    query = (
        reader.load()
        .writeStream.foreachBatch(batches.take)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return batches


def test_all_there_is_in_limited_steps_and_then_on_from_the_checkpoint(
    spark: SparkSession,
    broker_process: BrokerProcess,
    cluster: Cluster,
    topic: str,
    tmp_path: Path,
) -> None:
    create_topic(cluster, topic, 2)
    produce(cluster, topic, 0, range(7))
    produce(cluster, topic, 1, range(3))
    reader = stream(
        spark,
        broker_process,
        subscribe=topic,
        startingOffsets="earliest",
        maxOffsetsPerTrigger=4,
        kafka__group__id=topic,
    )
    first = drain(reader, tmp_path / "checkpoint")
    assert first.all == [(0, n) for n in range(7)] + [(1, n) for n in range(3)]
    assert first.sizes == [4, 4, 2]
    produce(cluster, topic, 1, range(2))
    second = drain(reader, tmp_path / "checkpoint")
    assert second.rows == {3: [(1, 3), (1, 4)]}
    # Spark tells of a batch when it begins the next one: the last is not shown yet.
    assert {p: c.offset for p, c in committed_offsets(cluster, topic).items()} == {
        TopicPartition(topic, 0): 7,
        TopicPartition(topic, 1): 3,
    }

"""Topics read as streams: what Spark is told, and what it then reads."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamReader
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
)

from odradek.client.cluster import Cluster
from odradek.client.group_offsets import committed_offsets
from odradek.pipeline.errors import DataLoss, SourceError
from odradek.pipeline.records.columns import RecordColumns
from odradek.pipeline.source.data_source import Decoding, WirePartition
from odradek.pipeline.source.log_view import BrokerView
from odradek.pipeline.source.options import read_stream_options
from odradek.pipeline.source.planning import BYTES_PER_TASK
from odradek.pipeline.source.stream_source import StreamReader
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.list_offsets import (
    EpochEndOffset,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.broker_process import BrokerProcess, running_broker
from tests.client.live import create_topic, produce
from tests.fakes.scripted import scripted_cluster
from tests.patience import PATIENCE_S
from tests.pipeline import feeding


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


# What Spark asks on the driver, without Spark


def reader_of(address: str, topic: str, **given: str) -> StreamReader:
    options = read_stream_options(
        {
            "kafka.bootstrap.servers": address,
            "subscribe": topic,
            "startingOffsets": "earliest",
            **given,
        }
    )
    columns = RecordColumns.of(include_headers=False)
    return StreamReader(options, Decoding(options.mode, columns, options))


@pytest.fixture
def reader(
    broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> Iterator[StreamReader]:
    """Of a topic with two partitions and six records in the first."""
    create_topic(cluster, topic, 2)
    produce(cluster, topic, 0, range(6))
    reader = reader_of(broker_process.address, topic)
    yield reader
    reader.stop()


def ranges(reader: StreamReader, start: Any, end: Any) -> list[tuple[int, int, int]]:
    """Partition, start and end of each part."""
    found = []
    for part in reader.partitions(start, end):
        assert isinstance(part, WirePartition)
        found += [each[1:] for each in part.wanted]
    return found


def test_large_records_are_many_tasks_and_who_is_not_told_asks_once(
    reader: StreamReader, monkeypatch: pytest.MonkeyPatch, topic: str
) -> None:
    start = reader.initialOffset()
    end = {**start, topic: {"0": 10_000, "1": 0}}
    asked: list[int] = []

    def weighed(self: BrokerView, places: list[TopicPartition]) -> dict[Any, float]:
        asked.append(len(places))
        return {places[0]: 1e5} if len(asked) == 1 else {}

    monkeypatch.setattr(BrokerView, "bytes_per_offset", weighed)
    assert len(ranges(reader, start, end)) == -(-10_000 * 100_000 // BYTES_PER_TASK)
    for _ in range(2):
        assert len(ranges(reader, start, end)) == 1
    assert asked == [1, 1]


def test_where_a_query_begins_and_how_far_it_may_go(
    reader: StreamReader, cluster: Cluster, topic: str
) -> None:
    start = reader.initialOffset()
    assert start[topic] == {"0": 0, "1": 0}
    end = reader.latestOffset(start, ReadAllAvailable())
    assert end[topic] == {"0": 6, "1": 0}
    assert ranges(reader, start, end) == [(0, 0, 6)]
    # Nothing new: the same object, and so the same text.
    assert reader.latestOffset(end, ReadAllAvailable()) is end
    produce(cluster, topic, 1, [1])
    limited = reader.latestOffset(start, ReadMaxRows(3))
    assert limited[topic] == {"0": 2, "1": 1}
    assert reader.latestOffset(limited, ReadMaxRows(3))[topic] == {"0": 5, "1": 1}
    assert reader.reportLatestOffset() is not None
    assert reader.latestOffset()[topic] == {"0": 6, "1": 1}  # as before Spark 4.2


def test_segments_instead_of_answers(
    reader: StreamReader, broker_process: BrokerProcess, topic: str
) -> None:
    path = {"path": str(broker_process.data_dir), "maxOffsetsPerTrigger": "4"}
    direct = reader_of(broker_process.address, topic, **path)
    start = direct.initialOffset()
    end = direct.latestOffset(start, direct.getDefaultReadLimit())
    (part,) = direct.partitions(start, end)
    (rows,) = direct.read(part)
    assert rows.column("offset").to_pylist() == [0, 1, 2, 3]
    direct.stop()


def test_from_the_end(
    reader: StreamReader, broker_process: BrokerProcess, topic: str
) -> None:
    latest = reader_of(broker_process.address, topic, startingOffsets="latest")
    assert latest.initialOffset()[topic] == {"0": 6, "1": 0}
    latest.stop()


def test_what_is_there_when_it_begins_is_all_that_is_read(
    reader: StreamReader, cluster: Cluster, topic: str
) -> None:
    start = reader.initialOffset()
    reader.prepareForTriggerAvailableNow()
    produce(cluster, topic, 1, range(5))
    end = reader.latestOffset(start, ReadMaxRows(4))
    assert end[topic] == {"0": 4, "1": 0}
    end = reader.latestOffset(end, ReadMaxRows(4))
    assert end[topic] == {"0": 6, "1": 0}
    assert reader.latestOffset(end, ReadMaxRows(4)) is end


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ({"minOffsetsPerTrigger": "8"}, ReadMinRows(8)),
        ({"minOffsetsPerTrigger": "8", "maxOffsetsPerTrigger": "9"}, ReadMaxRows(9)),
        ({"maxOffsetsPerTrigger": "9"}, ReadMaxRows(9)),
        ({}, ReadAllAvailable()),
    ],
)
def test_the_limits_that_spark_is_told(given: dict[str, str], limit: ReadLimit) -> None:
    assert reader_of("localhost:1", "t", **given).getDefaultReadLimit() == limit


def test_a_batch_waits_until_there_is_enough_for_it(
    reader: StreamReader, broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> None:
    least = {"minOffsetsPerTrigger": "8"}
    waiting = reader_of(broker_process.address, topic, **least)
    limit = waiting.getDefaultReadLimit()
    first = waiting.latestOffset(waiting.initialOffset(), limit)
    assert first[topic] == {"0": 6, "1": 0}  # the first waits for nothing
    produce(cluster, topic, 1, range(7))
    assert waiting.latestOffset(first, limit) is first
    produce(cluster, topic, 1, range(1))
    assert waiting.latestOffset(first, limit)[topic] == {"0": 6, "1": 8}
    waiting.stop()


def test_a_partition_that_is_added_is_read_from_its_first_record(
    reader: StreamReader, broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> None:
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    admin = AdminClient({"bootstrap.servers": broker_process.address})
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(PATIENCE_S)
    produce(cluster, topic, 2, range(4))
    after = reader.latestOffset(end, ReadAllAvailable())
    assert after[topic] == {"0": 6, "1": 0, "2": 4}
    assert ranges(reader, end, after) == [(2, 0, 4)]


def test_a_topic_created_again_is_a_loss(
    reader: StreamReader, broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> None:
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    feeding.delete(broker_process.address, topic)
    create_topic(cluster, topic, 1)
    produce(cluster, topic, 0, range(9))
    with pytest.raises(DataLoss, match="deleted and created again"):
        reader.latestOffset(end, ReadAllAvailable())
    lenient = reader_of(broker_process.address, topic, failOnDataLoss="false")
    after = lenient.latestOffset(end, ReadAllAvailable())
    assert ranges(lenient, end, after) == [(0, 0, 9)]
    lenient.stop()


def test_a_topic_that_is_gone_is_named(
    reader: StreamReader, broker_process: BrokerProcess, topic: str
) -> None:
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    feeding.delete(broker_process.address, topic)
    with pytest.raises(SourceError, match=f"There is no topic {topic}"):
        reader.latestOffset(end, ReadAllAvailable())


def test_a_log_that_ends_earlier_is_a_loss(
    reader: StreamReader, broker_process: BrokerProcess, topic: str
) -> None:
    start = {topic: {"0": 60, "1": 0}}
    with pytest.raises(DataLoss, match="read up to offset 60, and ends at 6 now"):
        reader.latestOffset(start, ReadAllAvailable())
    lenient = reader_of(broker_process.address, topic, failOnDataLoss="false")
    after = lenient.latestOffset(start, ReadAllAvailable())
    assert after[topic] == {"0": 6, "1": 0}
    assert ranges(lenient, start, after) == []
    lenient.stop()


def test_offsets_that_were_given_to_other_records_are_a_loss() -> None:
    """The log is as long as before, but its leader knows epoch 3 up to 5 only."""
    with scripted_cluster() as script:
        script.leaders["t"] = [1]
        listed = ListOffsetsPartitionResponse(offset=20, leader_epoch=4)
        topic = ListOffsetsTopicResponse(name="t", partitions=[listed])
        script.script(
            ListOffsetsRequest, lambda *_: ListOffsetsResponse(topics=[topic])
        )
        ended = EpochEndOffset(
            error_code=ErrorCode.NONE, partition=0, leader_epoch=3, end_offset=5
        )
        result = OffsetForLeaderTopicResult(topic="t", partitions=[ended])
        script.script(
            OffsetForLeaderEpochRequest,
            lambda *_: OffsetForLeaderEpochResponse(topics=[result]),
        )
        reader = reader_of(str(script.brokers[1].address), "t")
        start = {"t": {"0": 7}, "@epochs": {"t": {"0": 3}}}
        with pytest.raises(DataLoss, match=r"up to offset 7.*only up to 5"):
            reader.latestOffset(start, ReadAllAvailable())
        ended.end_offset = 7
        end = reader.latestOffset(start, ReadAllAvailable())
        assert (end["t"], end["@epochs"]) == ({"0": 20}, {"t": {"0": 4}})
        reader.stop()


def test_a_group_shows_how_far_the_query_is_and_nothing_depends_on_it(
    reader: StreamReader, broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> None:
    shown = reader_of(broker_process.address, topic, **{"kafka.group.id": topic})
    shown.commit({topic: {"0": 5}})
    assert committed_offsets(cluster, topic)[TopicPartition(topic, 0)].offset == 5
    shown.stop()
    reader.commit({topic: {"0": 5}})
    away = reader_of("127.0.0.1:1", topic, **{"kafka.group.id": topic})
    away.commit({topic: {"0": 5}})


def test_a_broker_that_restarts_is_waited_for(tmp_path: Path) -> None:
    with running_broker(tmp_path / "data") as broker:
        feeding.create(broker.address, "t")
        reader = reader_of(broker.address, "t")
        start = reader.initialOffset()
        broker.kill()
        restart = threading.Timer(0.3, broker.start)
        restart.start()
        assert reader.latestOffset(start, ReadAllAvailable()) is start
        restart.join()
        broker.kill()
        first = reader_of(broker.address, "t")
        with pytest.raises(SourceError, match="does not answer"):
            first.initialOffset()  # nobody has ever answered: a mistake, most likely
        reader.stop()

"""A table in a topic, file by file: also what comes later, never what was loaded."""

import json
import os
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from odradek.client.cluster import Cluster
from odradek.client.group_offsets import committed_offsets
from odradek.client.groups import delete_group
from odradek.client.producer import Producer
from odradek.client.topics import NewTopic, create_topic, delete_topic
from odradek.client.transaction_steps import CommittedNote
from odradek.client.transactional_producer import TransactionalProducer
from odradek.pipeline.job_errors import JobStopped
from odradek.pipeline.load.loader import Loader, LoadJob
from odradek.pipeline.load.notes import notes_topic
from odradek.pipeline.load.table_load import LoadedFiles, load_table
from odradek.pipeline.tables.files import TableSource, digest
from odradek.protocol.records import NewRecord
from odradek.protocol.topic_partition import TopicPartition
from tests.broker_process import BrokerProcess, running_broker
from tests.client.live import connected, settle, wait_until
from tests.client.test_producer import records_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from odradek.pipeline.tables.files import DataFile


def write(location: Path, number: int, count: int = 10) -> None:
    """A file of the table, changed after those before it."""
    import pyarrow as pa
    import pyarrow.parquet

    location.mkdir(exist_ok=True)
    values = [f"{number}-{row}" for row in range(count)]
    path = location / f"part-{number}.parquet"
    pyarrow.parquet.write_table(pa.table({"value": values}), path)
    os.utime(path, (number, number))


def test_new_files_follow_and_changed_ones_are_refused(
    spark: "SparkSession",
    broker_process: BrokerProcess,
    cluster: Cluster,
    topic: str,
    tmp_path: Path,
) -> None:
    create_topic(cluster, NewTopic(topic))
    job = LoadJob(topic, topic, broker_process.address)
    source = TableSource("parquet", str(tmp_path / "table"), {})

    def load(batch_size: int) -> list[LoadedFiles]:
        with Loader(spark, job) as loader:
            return list(load_table(spark, loader, source, batch_size=batch_size))

    for number in 1, 2, 3:
        write(tmp_path / "table", number)
    first = load(1)
    assert [each[:3] for each in first] == [(0, 1, 10), (1, 1, 10), (2, 1, 10)]
    assert first[-1].remaining_size == 0
    assert load(1) == []
    for number in 4, 5:
        write(tmp_path / "table", number)
    (second,) = load(1 << 20)
    assert second[:3] == (3, 2, 20)
    settle(cluster, topic)
    numbers = product(range(1, 6), range(10))
    expected = {f"{number}-{row}".encode() for number, row in numbers}
    found = [record.value for record in records_in(cluster, topic, 0)]
    assert len(found) == 50
    assert set(found) == expected
    write(tmp_path / "table", 2, count=11)
    with pytest.raises(JobStopped, match="load it under another --job"):
        load(1)


class Load:
    """A load of a table into a topic of one partition, run again and again."""

    def __init__(
        self, spark: "SparkSession", port: int, topic: str, source: TableSource
    ) -> None:
        self.spark, self.topic, self.source = spark, topic, source
        self.cluster = connected(port)
        self.address = f"127.0.0.1:{port}"
        self.create()
        self.notes = notes_topic(topic)
        self.group = f"load-{topic}"

    def create(self) -> None:
        """Make the topic; Apache Kafka's brokers hear of it a moment later."""
        made = create_topic(self.cluster, NewTopic(self.topic))
        wait_until(
            lambda: (
                [
                    topic.topic_id
                    for topic in self.cluster.metadata([self.topic]).topics.values()
                ]
                == [made.topic_id]
            )
        )

    def run(self, *, begins: bool = False) -> int:
        """How many rows it has written."""
        job = LoadJob(self.topic, self.topic, self.address, begins=begins)
        with Loader(self.spark, job) as loader:
            loaded = load_table(self.spark, loader, self.source, batch_size=1)
            return sum(each.records for each in loaded)

    def is_refused(self, why: str) -> None:
        """It stops, and there is nothing that was not there before."""
        before = self.rows()
        with pytest.raises(JobStopped, match=why):
            self.run()
        assert self.rows() == before

    def rows(self) -> list[bytes]:
        settle(self.cluster, self.topic)
        found = records_in(self.cluster, self.topic, 0)
        return sorted(record.value or b"" for record in found)

    def forget_group(self) -> None:
        """As a broker does by itself when a week has passed."""
        delete_group(self.cluster, self.group)

    def as_by_an_earlier_version(self, files: "Sequence[DataFile]") -> None:
        """The group's offset alone says that these were loaded, a file a batch."""
        delete_topic(self.cluster, self.notes)
        note = CommittedNote(len(files) - 1, f"{len(files)}:{digest(files)}")
        with TransactionalProducer(self.cluster, self.topic) as producer:
            producer.begin()
            producer.send_offsets(self.group, {TopicPartition(self.topic, 0): note})
            producer.commit()


@pytest.fixture(params=["odradek", pytest.param("kafka", marks=pytest.mark.long)])
def load(
    request: pytest.FixtureRequest, spark: "SparkSession", topic: str, tmp_path: Path
) -> Iterator[Load]:
    """Two files of ten rows, on either broker."""
    name = "broker_process" if request.param == "odradek" else "kafka_node"
    broker = request.getfixturevalue(name)
    source = TableSource("parquet", str(tmp_path / "table"), {})
    for number in 1, 2:
        write(tmp_path / "table", number)
    load = Load(spark, broker.port, topic, source)
    yield load
    load.cluster.close()


def test_nothing_comes_twice_when_the_group_is_forgotten(
    load: Load, tmp_path: Path
) -> None:
    assert load.run() == 20
    rows = load.rows()
    load.forget_group()
    assert load.run() == 0
    assert load.rows() == rows
    write(tmp_path / "table", 3)
    assert load.run() == 10
    assert len(load.rows()) == len(set(load.rows())) == 30
    # The group shows again how far it is.
    shown = committed_offsets(load.cluster, load.group)
    assert shown[TopicPartition(load.topic, 0)].offset == 2


def test_without_note_and_group_it_stops_and_asks(load: Load) -> None:
    assert load.run() == 20
    load.forget_group()
    delete_topic(load.cluster, load.notes)
    for _ in range(2):
        load.is_refused("nothing says which of it job .* begin with --begin; else")
    # Who says that all of it is of others gets what was asked for, once.
    assert load.run(begins=True) == 20
    assert load.run(begins=True) == 0
    assert load.run() == 0


@pytest.mark.long
def test_what_an_earlier_version_has_loaded_is_taken_over(
    load: Load, tmp_path: Path
) -> None:
    assert load.run() == 20
    files = sorted(load.source.files(load.spark))
    load.as_by_an_earlier_version(files)
    assert load.run() == 0
    load.forget_group()
    write(tmp_path / "table", 3)
    assert load.run() == 10
    assert len(load.rows()) == len(set(load.rows())) == 30


@pytest.mark.long
def test_an_earlier_version_that_went_on_in_between(load: Load, tmp_path: Path) -> None:
    """It has loaded a file more than the notes know of."""
    assert load.run() == 20
    write(tmp_path / "table", 3)
    files = sorted(load.source.files(load.spark))
    note = CommittedNote(2, f"3:{digest(files)}")
    with TransactionalProducer(load.cluster, load.topic) as producer:
        producer.begin()
        for row in range(10):
            producer.send(load.topic, NewRecord(None, b"3-%d" % row, 0))
        producer.send_offsets(load.group, {TopicPartition(load.topic, 0): note})
        producer.commit()
    assert load.run() == 0
    write(tmp_path / "table", 4)
    assert load.run() == 10
    assert len(load.rows()) == len(set(load.rows())) == 40


@pytest.mark.long
def test_a_group_whose_offset_was_set_by_hand(load: Load) -> None:
    assert load.run() == 20
    with TransactionalProducer(load.cluster, load.topic) as producer:
        producer.begin()
        place = TopicPartition(load.topic, 0)
        producer.send_offsets(load.group, {place: CommittedNote(7)})
        producer.commit()
    load.is_refused("batch 7 of this job is not one of a table's files")


def test_a_topic_that_was_made_anew(load: Load) -> None:
    assert load.run() == 20
    delete_topic(load.cluster, load.topic)
    load.create()
    assert load.run() == 20
    assert len(load.rows()) == 20
    delete_topic(load.cluster, load.topic)
    load.create()
    with Producer(load.cluster) as producer:
        producer.send(load.topic, NewRecord(None, b"of others", 0))
    load.is_refused("nothing says which of it job")
    assert load.run(begins=True) == 20


@pytest.mark.long
def test_notes_that_are_gone_in_part(load: Load) -> None:
    assert load.run() == 20
    with Producer(load.cluster) as producer:
        key = f"{load.topic}\n0 0".encode()
        value = json.dumps({"life": "another", "parts": []}).encode()
        producer.send(load.notes, NewRecord(key, value, 0))
    load.is_refused("2 files were loaded, but the notes name only 1")


@pytest.mark.long
def test_by_the_first_protocol_of_transactions(
    spark: "SparkSession", topic: str, tmp_path: Path
) -> None:
    """Which older brokers have: what takes part is added before it is written."""
    for number in 1, 2:
        write(tmp_path / "table", number)
    source = TableSource("parquet", str(tmp_path / "table"), {})
    with running_broker(tmp_path / "data", "-o", "transaction.version=0") as broker:
        load = Load(spark, broker.port, topic, source)
        with load.cluster:
            assert load.run() == 20
            load.forget_group()
            assert load.run() == 0
            write(tmp_path / "table", 3)
            assert load.run() == 10
            assert len(load.rows()) == len(set(load.rows())) == 30


def test_a_delta_file_that_was_written_early_and_committed_late(
    spark: "SparkSession",
    broker_process: BrokerProcess,
    topic: str,
    tmp_path: Path,
) -> None:
    import deltalake
    import pyarrow as pa
    import pyarrow.parquet

    location = tmp_path / "table"
    source = TableSource("delta", str(location), {})

    def rows(name: str) -> pa.Table:
        return pa.table({"value": [f"{name}-{row}" for row in range(10)]})

    deltalake.write_deltalake(str(location), rows("first"))
    staged = location / "staged.parquet"
    pyarrow.parquet.write_table(rows("staged"), staged)
    os.utime(staged, (1, 1))
    deltalake.write_deltalake(str(location), rows("second"), mode="append")
    load = Load(spark, broker_process.port, topic, source)
    with load.cluster:
        assert load.run() == 20
        table = deltalake.DeltaTable(str(location))
        added = deltalake.transaction.AddAction(
            path=staged.name,
            size=staged.stat().st_size,
            partition_values={},
            modification_time=staged.stat().st_mtime_ns // 1_000_000,
            data_change=True,
            stats="{}",
        )
        table.create_write_transaction([added], "append", table.schema())
        assert load.run() == 10
        assert load.run() == 0
        assert len(load.rows()) == len(set(load.rows())) == 30

"""Micro-batches that tasks write; the tasks run here, without Spark."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from odradek.pipeline.errors import SourceError
from odradek.pipeline.jobs.batch_writer import BatchWriter, read_reports
from odradek.pipeline.jobs.direct_tasks import DirectTasks
from odradek.pipeline.jobs.job_committer import Written
from odradek.pipeline.records.columns import RecordColumns
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.sink.large_batches import LargeBatches
from odradek.pipeline.source.log_view import BrokerView
from odradek.pipeline.values.decoding import ValueFormat
from odradek.protocol.topic_partition import TopicPartition
from tests.broker_process import BrokerProcess
from tests.client.live import connected
from tests.pipeline import feeding
from tests.pipeline.log_directories import TOPIC, make_directory, small_batches

COLUMNS = RecordColumns.of(include_headers=False)


def writer(folder: Path) -> BatchWriter:
    rows = folder / "rows"
    rows.mkdir(exist_ok=True)
    return BatchWriter(ValueFormat(), str(rows), None)


def run(tasks: DirectTasks) -> Written:
    made = range(len(tasks.partitions))
    return read_reports(report for number in made for report in tasks.reports(number))


@contextmanager
def large(address: str, topic: str, **more: str) -> Iterator[LargeBatches]:
    given = {"kafka.bootstrap.servers": address, "subscribe": topic, **more}
    with connected(int(address.rpartition(":")[2])) as cluster:
        yield LargeBatches(given, COLUMNS, BrokerView(cluster, committed=False))


def test_exactly_these_offsets(
    broker_process: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    address = broker_process.address
    feeding.create(address, topic, 3)
    for partition in range(3):
        feeding.send(address, topic, [b"x"] * 8, partition)
    planned = [
        OffsetRange(topic, 0, 2, 8),
        OffsetRange(topic, 1, 3, 3),
        OffsetRange(topic, 2, 0, 5),
    ]
    with large(address, topic, minPartitions="4") as batches:
        tasks = batches.tasks(planned, {}, writer(tmp_path))
        nothing = batches.tasks([planned[1]], {}, writer(tmp_path))
    assert len(tasks.partitions) >= 4
    written = run(tasks)
    assert written.row_count == 11
    assert written.offsets == {
        TopicPartition(topic, 0): (2, 7),
        TopicPartition(topic, 2): (0, 4),
    }
    assert run(nothing).row_count == 0


def test_another_topic_of_the_name_is_not_read(
    broker_process: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    feeding.create(broker_process.address, topic)
    feeding.send(broker_process.address, topic, [b"x"])
    planned = [OffsetRange(topic, 0, 0, 1)]
    with large(broker_process.address, topic) as batches:
        tasks = batches.tasks(planned, {topic: b"1" * 16}, writer(tmp_path))
    with pytest.raises(SourceError, match=topic):
        run(tasks)


def test_segments_are_read_where_the_job_says_so(
    broker_process: BrokerProcess, tmp_path: Path
) -> None:
    root = make_directory(tmp_path / "data", small_batches(30))
    planned = [OffsetRange(TOPIC, 0, 5, 55)]
    with large(broker_process.address, TOPIC, path=str(root)) as batches:
        written = run(batches.tasks(planned, {}, writer(tmp_path)))
    assert written.row_count == 50
    assert written.offsets == {TopicPartition(TOPIC, 0): (5, 54)}

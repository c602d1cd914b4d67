"""Micro-batches that the driver writes itself; without Spark."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from odradek.pipeline.job_errors import JobStopped
from odradek.pipeline.jobs.batch_writer import BatchWriter
from odradek.pipeline.records.columns import RecordColumns
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.sink.small_batches import SmallBatches
from odradek.pipeline.values.decoding import ValueFormat
from odradek.protocol.topic_partition import TopicPartition
from tests.broker_process import BrokerProcess
from tests.client.test_fetcher import answer_with, batch, data
from tests.fakes.scripted import ScriptedCluster, scripted_cluster
from tests.pipeline import feeding

COLUMNS = RecordColumns.of(include_headers=False)
JSON = ValueFormat("json", schema="n BIGINT")


@contextmanager
def small(address: str, topic: str, records_max: int = 100) -> Iterator[SmallBatches]:
    options = {"kafka.bootstrap.servers": address, "subscribe": topic}
    batches = SmallBatches(options, COLUMNS, records_max)
    try:
        yield batches
    finally:
        batches.close()


def writer(folder: Path, dead: str | None = "dead", **how: Any) -> BatchWriter:
    for name in ("rows", "dead"):
        (folder / name).mkdir(exist_ok=True)
    dead_folder = dead and str(folder / dead)
    return BatchWriter(
        ValueFormat(**how) if how else JSON, f"{folder}/rows", dead_folder
    )


def values(*numbers: int) -> list[bytes | None]:
    return [b"bad" if number == 3 else b'{"n":%d}' % number for number in numbers]


def test_rows_and_dead_letters_of_exactly_these_offsets(
    broker_process: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    address = broker_process.address
    feeding.create(address, topic, 2)
    feeding.send(address, topic, values(*range(8)))
    feeding.send(address, topic, values(10, 11), partition=1)
    with small(address, topic) as batches:
        planned = [OffsetRange(topic, 0, 2, 6), OffsetRange(topic, 1, 2, 2)]
        written = batches.write(planned, {}, writer(tmp_path))
        assert written is not None
        assert (written.row_count, written.dead_letter_count) == (3, 1)
        assert written.offsets == {TopicPartition(topic, 0): (2, 5)}
        assert pq.read_table(tmp_path / "rows")["n"].to_pylist() == [2, 4, 5]
        # The next ones, by the same connections, of both partitions in one file.
        planned = [OffsetRange(topic, 0, 6, 8), OffsetRange(topic, 1, 0, 2)]
        written = batches.write(planned, {}, writer(tmp_path))
        assert written is not None
        (file,) = written.files
        assert pq.read_table(file.path)["n"].to_pylist() == [6, 7, 10, 11]


def test_what_is_not_small_is_left_to_tasks(tmp_path: Path) -> None:
    with small("127.0.0.1:1", "t", 9) as batches:
        planned = [OffsetRange("t", 0, 0, 5), OffsetRange("t", 1, 0, 5)]
        assert batches.write(planned, {}, writer(tmp_path)) is None
        assert list((tmp_path / "rows").iterdir()) == []


def test_what_fails_is_left_to_tasks_and_the_next_one_tried(tmp_path: Path) -> None:
    planned = [OffsetRange("t", 0, 0, 3)]
    with scripted_cluster() as script:
        script.leaders["t"] = [1]
        with small(address_of(script), "t") as batches:
            answer_with(script, [data(batch(0, 3)[:-1] + b"?")])  # its checksum fails
            assert batches.write(planned, {}, writer(tmp_path, format="none")) is None
            answer_with(script, [data(batch(0, 3))])
            written = batches.write(planned, {}, writer(tmp_path, format="none"))
            assert written is not None
            assert written.row_count == 3


def test_another_topic_of_the_name_is_left_to_tasks(
    broker_process: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    address = broker_process.address
    feeding.create(address, topic)
    feeding.send(address, topic, values(0))
    planned = [OffsetRange(topic, 0, 0, 1)]
    with small(address, topic) as batches:
        assert batches.write(planned, {}, writer(tmp_path)) is not None
        feeding.delete(address, topic)
        feeding.create(address, topic)
        feeding.send(address, topic, values(1))
        assert batches.write(planned, {}, writer(tmp_path)) is None
    with small(address, topic) as batches:
        assert batches.write(planned, {topic: b"1" * 16}, writer(tmp_path)) is None
        assert batches.write(planned, {topic: bytes(16)}, writer(tmp_path)) is not None


def test_a_value_that_stops_the_job_does_so_here(
    broker_process: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    feeding.create(broker_process.address, topic)
    feeding.send(broker_process.address, topic, values(3))
    with small(broker_process.address, topic) as batches:
        planned, rows = [OffsetRange(topic, 0, 0, 1)], writer(tmp_path, dead=None)
        with pytest.raises(JobStopped, match="cannot be decoded"):
            batches.write(planned, {}, rows)


def address_of(script: ScriptedCluster) -> str:
    return str(script.brokers[1].address)

"""Directories that Apache Kafka wrote, and what it answered about them.

Each is opened as a broker would, compared with what Kafka said (before the stop, or
after it was started again on the damage), written to, and opened once more.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from protocol.record_batch import scan
from protocol.records import NewRecord, Record, build_batch, iterate
from protocol.topic_partition import TopicPartition
from protocol.uuids import to_text
from storage.log_config import LogConfig
from storage.log_manager import LogManager
from storage.log_read import FetchIsolation
from storage.meta_properties import read_meta_properties
from storage.offset_lookup import MAX_TIMESTAMP
from storage.unified_log import UnifiedLog
from tests.fakes.files import FakeFiles

from .test_log_directory import NoLock

GOLDEN = Path(__file__).parents[1] / "golden" / "kafka-4.3.1"
ROOT = Path("/data")
CASES = [
    "codecs-recompressed",
    "delete-records",
    "empty-partitions",
    "garbage-tail",
    "idempotent",
    "index-full-roll",
    "index-missing-clean",
    "leader-epochs",
    "log-append-time",
    "plain-size-roll",
    "preallocated",
    "record-shapes",
    "segment-missing-clean",
    "snapshot-garbled",
    "torn-tail-cut-1",
    "torn-tail-cut-11",
    "torn-tail-cut-60",
    "torn-tail-cut-half",
    "torn-tail-cut-half-clean",
    "torn-tail-cut-last-byte",
    "torn-tail-whole-batch",
    "transaction-state",
    "txn-interleaved",
    "unclean-kill",
    "unclean-txn",
    "zero-tail",
]
# Its checkpoint says that offset 135 was durable: it is not given again.
ENDS_OF_OURS = {"torn-tail-cut-half-clean": 136}
# A clean log without snapshots: Kafka, started again, knows no producer either.
WITHOUT_SNAPSHOTS = {"dr-all-0"}
FOREVER_MS = 1 << 62


class Case:
    """A log directory of Kafka's, copied into memory, and its answers."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.expected = json.loads((GOLDEN / name / "expected.json").read_text())
        self.now_ms = int(self.expected["written_at_ms"]) + 1000
        self.files = FakeFiles()
        self.files.copy_in(GOLDEN / name / "log-dir", ROOT)

    @property
    def answers(self) -> dict[str, Any]:
        answers = self.expected.get("partitions")
        if answers is None:
            answers = self.expected["restart"]["partitions"]
        assert isinstance(answers, dict)
        return answers

    def start(self) -> LogManager:
        identity = read_meta_properties(self.files, ROOT)
        assert identity is not None
        manager = LogManager(
            [ROOT],
            self.files,
            cluster_id=identity.cluster_id,
            node_id=identity.node_id,
            producer_id_expiration_ms=FOREVER_MS,
            take_lock=NoLock,
        )
        manager.open()
        for partition in manager.directories_of():
            manager.register(self.load(manager, partition))
        return manager

    def load(self, manager: LogManager, partition: TopicPartition) -> UnifiedLog:
        topic_id = manager.topic_id_of(partition)
        assert topic_id is not None
        options = self.expected["topic_config"].get(partition.topic, {})
        config = LogConfig(
            segment_bytes=int(options.get("internal.segment.bytes", 1 << 30)),
            index_interval_bytes=int(options.get("index.interval.bytes", 4096)),
        )
        return manager.load(partition, topic_id, config, self.now_ms)


def data_records(log: UnifiedLog) -> list[Record]:
    """The records from the log start on, without those of brokers."""
    records: list[Record] = []
    offset = log.log_start_offset
    while True:
        data = log.read(offset, 1 << 20, FetchIsolation.LOG_END, may_block=True).records
        if not len(data):
            return records
        for position, header in scan(data):
            batch = memoryview(data)[position : position + header.size]
            if not header.is_control:
                records += [each for each in iterate(batch) if each.offset >= offset]
            offset = header.next_offset


def as_expected(record: Record) -> list[Any]:
    return [
        record.offset,
        record.timestamp,
        None if record.key is None else record.key.hex(),
        None if record.value is None else record.value.hex(),
        [
            [name, None if value is None else value.hex()]
            for name, value in record.headers
        ],
    ]


@pytest.mark.parametrize("name", CASES)
def test_a_directory_of_kafkas_is_read_as_it_was(name: str) -> None:
    case = Case(name)
    manager = case.start()
    for partition, answer in case.answers.items():
        topic, _, number = partition.rpartition("-")
        log = manager.get(TopicPartition(topic, int(number)))
        assert log is not None, partition
        if "topic_id" in answer:
            assert to_text(log.topic_id) == answer["topic_id"]
        ends = answer["offsets"]
        end = ENDS_OF_OURS.get(name, ends["latest"]["offset"])
        assert log.log_start_offset == ends["earliest"]["offset"]
        assert log.log_end_offset == log.high_watermark == log.recovery_point == end
        if name not in ENDS_OF_OURS:
            assert log.last_stable_offset == ends["latest_committed"]["offset"]
        if "read_uncommitted" in answer:
            wanted = [
                [*record[:2], *record[4:]]
                for record in answer["read_uncommitted"]["records"]
            ]
            assert list(map(as_expected, data_records(log))) == wanted


@pytest.mark.parametrize("name", CASES)
def test_its_producers_are_known(name: str) -> None:
    case = Case(name)
    manager = case.start()
    before = case.expected.get("before") or {}
    for partition, answer in case.answers.items():
        producers = answer.get("producers")
        if not producers and partition in before:
            # Kafka let them expire: these records are old on purpose.
            continue
        topic, _, number = partition.rpartition("-")
        log = manager.get(TopicPartition(topic, int(number)))
        assert log is not None
        found = {
            (
                each.producer_id,
                each.producer_epoch,
                each.last_sequence,
                each.last_timestamp,
            )
            for each in log.producers
        }
        if producers is not None and partition not in WITHOUT_SNAPSHOTS:
            assert found == {
                (
                    each["producer_id"],
                    each["epoch"],
                    each["last_sequence"],
                    each["last_timestamp"],
                )
                for each in producers
            }


@pytest.mark.parametrize("name", CASES)
def test_its_times_are_found(name: str) -> None:
    case = Case(name)
    manager = case.start()
    # After a cut Kafka does not find the newest times any more; the others it does.
    misses_the_last = "restart" in case.expected
    for partition, answer in case.answers.items():
        topic, _, number = partition.rpartition("-")
        log = manager.get(TopicPartition(topic, int(number)))
        assert log is not None
        for timestamp, expected in answer.get("offsets_for_time", {}).items():
            found = log.find_offset(int(timestamp))
            if expected["offset"] >= 0 or not misses_the_last:
                assert (found.offset if found else -1) == expected["offset"]
        largest = answer["offsets"]["max_timestamp"]
        found = log.find_offset(MAX_TIMESTAMP)
        if largest["offset"] >= 0 or not misses_the_last:
            assert (found.offset if found else -1) == largest["offset"]


@pytest.mark.parametrize("name", CASES)
def test_it_is_written_to_and_opened_again(name: str) -> None:
    case = Case(name)
    before = {}
    manager = case.start()
    for log in manager.logs():
        records = data_records(log)
        batch = build_batch([NewRecord(b"new", b"value", case.now_ms)])
        info = log.append_as_leader(memoryview(batch), 100, case.now_ms)
        before[log.topic_partition] = [
            *records,
            Record(info.base_offset, case.now_ms, b"new", b"value"),
        ]
    again = case.start()
    assert not again.was_clean
    for log in again.logs():
        assert data_records(log) == before[log.topic_partition]
    assert again.close(case.now_ms)
    third = case.start()
    assert third.was_clean
    for log in third.logs():
        assert data_records(log) == before[log.topic_partition]


def test_a_flipped_bit_costs_one_batch_where_kafka_drops_all_that_follow() -> None:
    case = Case("flip-active-middle")
    answer = case.answers["tt-0"]
    assert answer["offsets"]["latest"]["offset"] == 123
    log = case.start().get(TopicPartition("tt", 0))
    assert log is not None
    assert log.log_end_offset == 136
    assert len(log.read(127, 1 << 20).records)

"""Directories that Apache Kafka wrote, and what it answered about them.

Each is opened as a broker would, compared with what Kafka said (before the stop, or
after it was started again on the damage), written to, and opened once more.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.record_batch import read_header, scan
from odradek.protocol.records import NewRecord, Record, build_batch, iterate
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import to_text
from odradek.storage.directory.log_manager import LogManager
from odradek.storage.files.meta_properties import read_meta_properties
from odradek.storage.formats.checkpoint import EpochEntry, parse_epochs
from odradek.storage.local.offset_lookup import MAX_TIMESTAMP
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.values.log_config import LogConfig
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.files import FakeFiles
from tests.storage.directory.test_log_directory import NoLock

GOLDEN = Path(__file__).parents[1] / "golden" / "kafka-4.3.1"
ROOT = Path("/data")
CASES = sorted(path.name for path in GOLDEN.iterdir())
# Its checkpoint says that offset 135 was durable: it is not given again.
ENDS_OF_OURS = {"torn-tail-cut-half-clean": 136}
# Apache Kafka lost all that follows the damage, or did not start at all. Here only the
# batch at ``mutation`` is missing.
KEPT_BY_OURS = {
    "flip-active-middle",
    "flip-old-segment",
    "flip-last-batch-offset-below-base",
}
WHOLE = "hw-checkpoint-missing-clean"
# Kafka asks an empty segment for the earlier times, and finds nothing. After a cut it
# does not find the newest times any more.
TIMES_MISSED_BY_KAFKA = {"compact-tombstones-removed"}
NEWEST_IS_DAMAGED = {"flip-last-batch-clean"}
# The snapshot at the old end knows the producer's last batch, though that was cut: it
# goes on with the next sequence.
LAST_SEQUENCE_OF_OURS = {"torn-tail-cut-half-clean": {(0, 0, 135, 1700000000135)}}
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
        """What the log has to answer, by partition."""
        if self.name in KEPT_BY_OURS:
            return {"tt-0": self._without_one_batch()}
        answers = self.expected.get("partitions")
        if answers is None:
            answers = self.expected["restart"]["partitions"]
        assert isinstance(answers, dict)
        return answers

    def _without_one_batch(self) -> dict[str, Any]:
        mutation = self.expected["mutation"]
        path = GOLDEN / self.name / "log-dir" / "tt-0" / mutation["file"]
        header = read_header(path.read_bytes(), mutation["batch_position"])
        first = mutation["batch_base_offset"]
        lost = range(first, first + header.last_offset_delta + 1)
        # The same topic, produced to in the same way, and not damaged.
        whole = json.loads((GOLDEN / WHOLE / "expected.json").read_text())
        answer = whole["restart"]["partitions"]["tt-0"]
        read = answer["read_uncommitted"]
        kept = [record for record in read["records"] if record[0] not in lost]
        end = first if 135 in lost else 136
        return {
            "offsets": {
                "earliest": answer["offsets"]["earliest"],
                "latest": {"offset": end},
                "latest_committed": {"offset": end},
                "max_timestamp": {"offset": kept[-1][0]},
            },
            "read_uncommitted": {**read, "records": kept},
        }

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

    def policy(self, topic: str) -> str:
        if topic.startswith("__"):
            return "compact"
        options = self.expected["topic_config"].get(topic, {})
        return str(options.get("cleanup.policy", "delete"))

    def load(self, manager: LogManager, partition: TopicPartition) -> UnifiedLog:
        topic_id = manager.topic_id_of(partition)
        assert topic_id is not None
        options = self.expected["topic_config"].get(partition.topic, {})
        config = LogConfig(
            segment_bytes=int(options.get("internal.segment.bytes", 1 << 30)),
            index_interval_bytes=int(options.get("index.interval.bytes", 4096)),
            cleanup_policy=frozenset(self.policy(partition.topic).split(",")),
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
        if name in LAST_SEQUENCE_OF_OURS:
            assert found == LAST_SEQUENCE_OF_OURS[name]
        elif producers is not None and partition not in WITHOUT_SNAPSHOTS:
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
    misses_the_last = "restart" in case.expected or name in TIMES_MISSED_BY_KAFKA
    for partition, answer in case.answers.items():
        topic, _, number = partition.rpartition("-")
        log = manager.get(TopicPartition(topic, int(number)))
        assert log is not None
        for timestamp, expected in answer.get("offsets_for_time", {}).items():
            found = log.reading.find_offset(int(timestamp))
            is_lost = name in NEWEST_IS_DAMAGED and expected["offset"] == 135
            if not is_lost and (expected["offset"] >= 0 or not misses_the_last):
                assert (found.offset if found else -1) == expected["offset"]
        largest = answer["offsets"]["max_timestamp"]
        found = log.reading.find_offset(MAX_TIMESTAMP)
        if name in NEWEST_IS_DAMAGED:
            assert found is None or found.offset == 134
        elif largest["offset"] >= 0 or not misses_the_last:
            assert (found.offset if found else -1) == largest["offset"]


@pytest.mark.parametrize("name", CASES)
def test_it_is_written_to_and_opened_again(name: str) -> None:
    case = Case(name)
    before = {}
    manager = case.start()
    for log in manager.logs():
        records = data_records(log)
        batch = build_batch([NewRecord(b"new", b"value", case.now_ms)])
        info = log.appender.append_as_leader(memoryview(batch), 100, case.now_ms)
        before[log.topic_partition] = [
            *records,
            Record(info.base_offset, case.now_ms, b"new", b"value"),
        ]
    again = case.start()
    assert not again.was_clean
    for log in again.logs():
        assert data_records(log) == before[log.topic_partition]
    assert again.close()
    third = case.start()
    assert third.was_clean
    for log in third.logs():
        assert data_records(log) == before[log.topic_partition]


def log_of(manager: LogManager, partition: str) -> UnifiedLog:
    topic, _, number = partition.rpartition("-")
    log = manager.get(TopicPartition(topic, int(number)))
    assert log is not None, partition
    return log


@pytest.mark.parametrize("name", CASES)
def test_committed_readers_get_what_was_committed(name: str) -> None:
    case = Case(name)
    manager = case.start()
    for partition, answer in case.answers.items():
        if "read_committed" in answer:
            log = log_of(manager, partition)
            assert committed_offsets(log) == answer["read_committed"]["offsets"]


def committed_offsets(log: UnifiedLog) -> list[int]:
    """The offsets that a client shows its user, which leaves aborted batches out."""
    found: list[int] = []
    offset = log.log_start_offset
    while True:
        data = log.read(offset, 1 << 20, FetchIsolation.TXN_COMMITTED, may_block=True)
        assert data.aborted is not None
        begins = {(each.first_offset, each.producer_id) for each in data.aborted}
        aborted = {producer for first, producer in begins if first < offset}
        if not len(data.records):
            return found
        for position, header in scan(data.records):
            batch = memoryview(data.records)[position : position + header.size]
            aborted |= {
                producer
                for first, producer in begins
                if header.base_offset <= first <= header.last_offset
            }
            if header.is_control:
                aborted.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in aborted):
                found += [
                    each.offset for each in iterate(batch) if each.offset >= offset
                ]
            offset = header.next_offset


@pytest.mark.parametrize("name", CASES)
def test_its_transaction_indexes_stay_as_they_were(name: str) -> None:
    case = Case(name)
    before = {path: case.files.content(path) for path in case.files.paths()}
    case.start()
    for path in case.files.paths():
        if path.suffix == ".txnindex":
            assert case.files.content(path) == before[path]


@pytest.mark.parametrize("name", CASES)
def test_its_leader_epochs_are_those_of_its_file(name: str) -> None:
    case = Case(name)
    manager = case.start()
    for log in manager.logs():
        # Its file was removed, or never written; all batches are of one epoch.
        wanted = [EpochEntry(0, log.log_start_offset)] if log.log_end_offset else []
        path = GOLDEN / name / "log-dir" / str(log.topic_partition)
        file = path / "leader-epoch-checkpoint"
        if file.exists():
            wanted = parse_epochs(file.read_text())
        assert list(log.epochs.entries) == wanted


def test_a_flipped_bit_costs_one_batch_where_kafka_drops_all_that_follow() -> None:
    for name, kept_by_kafka in (("flip-active-middle", 123), ("flip-old-segment", 18)):
        case = Case(name)
        assert (
            case.expected["restart"]["partitions"]["tt-0"]["offsets"]["latest"][
                "offset"
            ]
            == kept_by_kafka
        )
        log = log_of(case.start(), "tt-0")
        assert log.log_end_offset == 136
        assert len(log.damage) == 1
        assert len(log_of(case.start(), "tt-0").damage) == 1


def test_a_segment_that_is_missing_is_reported_and_passed_over() -> None:
    case = Case("segment-missing-clean")
    log = log_of(case.start(), "tt-0")
    (hole,) = log.quarantine
    assert (hole.base_offset, hole.last_offset, hole.start == hole.end) == (
        36,
        71,
        True,
    )
    read = log.read(40, 1 << 20)
    (found,) = scan(read.records)
    assert found[1].records_count == 0
    assert found[1].next_offset == 72
    # Also after another restart, though the orphans that told of it are gone.
    assert list(log_of(case.start(), "tt-0").quarantine) == [hole]


def test_a_half_batch_after_a_clean_stop_is_cut_and_passed_over() -> None:
    case = Case("torn-tail-cut-half-clean")
    log = log_of(case.start(), "tt-0")
    segment = log.local.segments.floor(135)
    assert segment is not None
    assert segment.size == case.expected["mutation"]["last_batch_position"]
    assert [header.next_offset for _, header in scan(log.read(135, 100).records)] == [
        136
    ]


def test_zeros_behind_a_cleanly_stopped_log_are_cut_where_kafka_does_not_start() -> (
    None
):
    case = Case("plain-size-roll")
    log = log_of(case.start(), "plain-0")
    path, size, end = (
        log.local.active.log.path,
        log.local.active.size,
        log.log_end_offset,
    )
    again = Case("plain-size-roll")
    again.files.extend(path, bytes(1000))
    log = log_of(again.start(), "plain-0")
    assert (again.files.size(path), log.log_end_offset) == (size, end)
    assert not len(log.damage)


def test_t082_delete_dir_loads_without_recovery() -> None:
    # It is not loaded at all: the directory waits for its removal, whatever is in it.
    case = Case("topic-delete-pending")
    before = [path for path in case.files.paths() if "-delete/" in str(path)]
    assert before
    manager = case.start()
    assert not manager.was_clean
    assert [str(log.topic_partition) for log in manager.logs()] == ["survivor-0"]
    assert [path for path in case.files.paths() if "-delete/" in str(path)] == before

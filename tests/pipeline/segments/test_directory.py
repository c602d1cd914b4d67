"""Directories that Apache Kafka wrote, read without a broker: what Kafka answered."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from odradek.pipeline.errors import SourceError
from odradek.pipeline.records.damage import CorruptData, OnCorrupt
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.segments.directory import DataDirectory, LogOffsets
from odradek.pipeline.segments.planning import plan_segments
from odradek.pipeline.segments.reader import read_segments
from odradek.protocol.topic_partition import TopicPartition
from tests.pipeline.log_directories import make_directory, small_batches
from tests.pipeline.walks import ALL, Row, rows_of

GOLDEN = Path(__file__).parents[2] / "golden/kafka-4.3.1"
# Stopped cleanly, then damaged: the high watermark says that more was written.
DAMAGED = ("flip-last-batch-clean", "torn-tail-cut-half-clean")
TYPES = {"CreateTime": 0, "LogAppendTime": 1}


def is_clean(case: Path) -> bool:
    return (case / "log-dir/.kafka_cleanshutdown").exists()


CASES = sorted(case.name for case in GOLDEN.iterdir() if is_clean(case))
UNCLEAN = sorted(case.name for case in GOLDEN.iterdir() if not is_clean(case))


def answers(case: str) -> dict[str, Any]:
    """What Kafka said of each partition: after the damage, if there is any."""
    told = json.loads((GOLDEN / case / "expected.json").read_text())
    found: dict[str, Any] = told.get("restart", told)["partitions"]
    return {name: each for name, each in found.items() if "read_uncommitted" in each}


def read(
    directory: DataDirectory,
    place: TopicPartition,
    *,
    committed: bool = False,
    on_corrupt: OnCorrupt = OnCorrupt.FAIL,
) -> list[Row]:
    offsets = directory.offsets(place)
    end = offsets.high_watermark
    if committed:
        end = directory.last_stable_offset(place)
    wanted = [OffsetRange(*place, offsets.log_start_offset, end)]
    return [
        row
        for piece in plan_segments(
            directory.path, wanted, committed=committed, split_bytes=2000
        )
        for row in rows_of(read_segments(piece, ALL, on_corrupt=on_corrupt))
    ]


def kafkas_row(record: list[Any]) -> Row:
    offset, timestamp, kind, _, key, value, headers = record

    def octets(text: str | None) -> bytes | None:
        return None if text is None else bytes.fromhex(text)

    pairs = tuple((name, octets(each)) for name, each in headers)
    return offset, timestamp, TYPES[kind], octets(key), octets(value), pairs


@pytest.mark.parametrize("case", [case for case in CASES if case not in DAMAGED])
def test_golden_directory_is_read_as_kafka_read_it(case: str) -> None:
    directory = DataDirectory(GOLDEN / case / "log-dir")
    directory.check_stopped()
    told = answers(case)
    assert {str(place) for place in directory.partitions()} >= set(told)
    for place in directory.partitions():
        if str(place) not in told:
            continue
        answer = told[str(place)]
        told_offsets = {
            name: each["offset"] for name, each in answer["offsets"].items()
        }
        assert directory.offsets(place) == LogOffsets(
            told_offsets["earliest"], told_offsets["latest"]
        )
        assert directory.last_stable_offset(place) == told_offsets["latest_committed"]
        records = answer["read_uncommitted"]["records"]
        assert read(directory, place) == [kafkas_row(record) for record in records]
        committed = [row[0] for row in read(directory, place, committed=True)]
        assert committed == answer["read_committed"]["offsets"]


@pytest.mark.parametrize("case", DAMAGED)
def test_damage_in_a_clean_directory_is_met(case: str) -> None:
    directory = DataDirectory(GOLDEN / case / "log-dir")
    place = TopicPartition("tt", 0)
    assert directory.offsets(place).high_watermark == 136
    with pytest.raises(CorruptData, match="offsets from 135"):
        read(directory, place)
    rows = read(directory, place, on_corrupt=OnCorrupt.SKIP)
    assert [row[0] for row in rows] == list(range(135))


@pytest.mark.parametrize("case", UNCLEAN)
def test_a_killed_brokers_directory_is_refused(case: str) -> None:
    directory = DataDirectory(GOLDEN / case / "log-dir")
    with pytest.raises(SourceError, match=r"no \.kafka_cleanshutdown.*bootstrap"):
        directory.check_stopped()


def test_all_kinds_of_golden_directories_are_here() -> None:
    assert len(CASES) > 20
    assert len(UNCLEAN) > 12


def test_an_open_transaction_ends_the_stable_part(tmp_path: Path) -> None:
    """Without the snapshots, too: the log says the same."""
    case = GOLDEN / "transaction-state"
    root = tmp_path / "log-dir"
    shutil.copytree(case / "log-dir", root)
    for snapshot in root.rglob("*.snapshot"):
        snapshot.unlink()
    told = answers("transaction-state")
    for place in DataDirectory(root).partitions():
        if str(place) in told:
            stable = told[str(place)]["offsets"]["latest_committed"]["offset"]
            assert DataDirectory(root).last_stable_offset(place) == stable


def test_an_unknown_snapshot_is_passed_over(tmp_path: Path) -> None:
    root = tmp_path / "log-dir"
    shutil.copytree(GOLDEN / "txn-interleaved/log-dir", root)
    for snapshot in root.rglob("*.snapshot"):
        snapshot.write_bytes(b"noise")
    place = TopicPartition("tx", 0)
    assert DataDirectory(root).offsets(place) == LogOffsets(0, 53)
    assert DataDirectory(root).last_stable_offset(place) == 53


def test_without_a_high_watermark_the_log_says_where_it_ends(tmp_path: Path) -> None:
    directory = DataDirectory(make_directory(tmp_path, small_batches(15)))
    assert directory.offsets(TopicPartition("topic", 0)) == LogOffsets(0, 30)


def test_what_is_no_log_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"path.*No such file"):
        DataDirectory(tmp_path / "nothing")
    with pytest.raises(SourceError, match="is not a log directory of a broker"):
        DataDirectory(tmp_path)
    (tmp_path / "meta.properties").write_text("")
    assert DataDirectory(tmp_path).partitions() == []
    with pytest.raises(SourceError, match="has no partition t-0"):
        DataDirectory(tmp_path).offsets(TopicPartition("t", 0))


def test_a_checkpoint_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    root = make_directory(tmp_path, small_batches(3))
    (root / "replication-offset-checkpoint").write_text("0\n7\n")
    with pytest.raises(SourceError, match="replication-offset-checkpoint"):
        DataDirectory(root).offsets(TopicPartition("topic", 0))


def test_only_partitions_are_partitions(tmp_path: Path) -> None:
    root = make_directory(tmp_path, small_batches(3))
    for name in (
        "__cluster_metadata-0",
        f"gone-0.{'0' * 32}-delete",
        "remote-log-index-cache",
        "no_number",
    ):
        (root / name).mkdir()
    (root / "file-7").write_text("")
    (root / "with.dots-and-dashes-12").mkdir()
    assert DataDirectory(root).partitions() == [
        TopicPartition("topic", 0),
        TopicPartition("with.dots-and-dashes", 12),
    ]

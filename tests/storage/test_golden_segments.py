"""Kafka's own segments: read, recovered, and written byte for byte the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.record_batch import scan
from odradek.storage.formats.index_entry import parse_index, parse_time_index
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.values.file_names import base_offset_of
from odradek.storage.values.log_config import LogConfig
from tests.fakes.files import FakeFiles
from tests.storage.batches import append

GOLDEN = Path(__file__).parents[1] / "golden/kafka-4.3.1"
CASES = [
    "plain-size-roll",
    "index-full-roll",
    "preallocated",
    "unclean-kill",
    "index-missing-clean",
    "leader-epochs",
]
CLEAN_CASES = [case for case in CASES if case != "unclean-kill"]


class Case:
    """One directory of a partition, copied into memory."""

    def __init__(self, name: str) -> None:
        expected = json.loads((GOLDEN / name / "expected.json").read_text())
        [(self.partition, self.on_disk)] = [
            (partition, files)
            for partition, files in expected["on_disk"].items()
            if not partition.startswith("__")
        ]
        options = expected["topic_config"][self.partition.rpartition("-")[0]]
        self.config = LogConfig(
            segment_bytes=int(options.get("internal.segment.bytes", 1 << 30)),
            index_interval_bytes=int(options.get("index.interval.bytes", 4096)),
            segment_index_bytes=int(options.get("segment.index.bytes", 10 << 20)),
        )
        self.source = GOLDEN / name / "log-dir" / self.partition
        self.directory = Path("/data") / self.partition
        self.files = FakeFiles()
        self.files.copy_in(self.source, self.directory)
        self.bases = sorted(
            base_offset_of(n) for n in self.on_disk if n.endswith(".log")
        )

    def open(self, base_offset: int) -> LogSegment:
        return LogSegment(self.files, self.directory, base_offset, self.config, 0)

    def expected(self, base_offset: int, kind: str) -> list[dict[str, Any]]:
        return self.entries_of(f"{base_offset:020d}{kind}")

    def entries_of(self, name: str) -> list[dict[str, Any]]:
        """What Kafka's tool prints, without the zeros of a preallocated file."""
        entries: list[dict[str, Any]] = self.on_disk[name]
        if name.endswith(".index"):
            return [entry for entry in entries if entry["position"]]
        if name.endswith(".timeindex"):  # of a broken pair, the tool reads nothing
            return [entry for entry in entries if entry.get("timestamp")]
        return entries


@pytest.mark.parametrize("name", CASES)
def test_index_entries_are_read_as_kafka_reads_them(name: str) -> None:
    case = Case(name)
    seen = 0
    for file in case.on_disk:
        entries = case.entries_of(file)
        data = case.files.content(file)
        base = base_offset_of(file)
        if file.endswith(".timeindex"):
            found = [
                (e.timestamp, base + e.relative_offset) for e in parse_time_index(data)
            ]
            expected = [(e["timestamp"], e["offset"]) for e in entries]
            assert found == expected or name == "index-missing-clean"
        elif file.endswith(".index"):
            found = [(base + e.relative_offset, e.position) for e in parse_index(data)]
            assert found == [(e["offset"], e["position"]) for e in entries]
        seen += len(entries)
    assert seen


@pytest.mark.parametrize("name", CASES)
def test_every_offset_and_timestamp_is_found(name: str) -> None:
    case = Case(name)
    for base in case.bases:
        segment = case.open(base)
        for expected in case.expected(base, ".log"):
            for offset in range(expected["baseOffset"], expected["lastOffset"] + 1):
                found = segment.reader.read(offset, None, 1)
                assert found is not None
                assert found.position == expected["position"]
                assert len(found.records) == expected["size"]
        latest = max((b["CreateTime"] for b in case.expected(base, ".log")), default=-1)
        assert segment.max_timestamp == latest


@pytest.mark.parametrize("name", CLEAN_CASES[:-1])  # that one was often reopened
def test_recovery_writes_the_indexes_that_kafka_wrote(name: str) -> None:
    case = Case(name)
    for base in case.bases:
        segment = case.open(base)
        assert segment.recover().is_clean
        segment.seal()
        _assert_files_are_kafkas(case, case.files, case.directory, base)


@pytest.mark.parametrize("name", CLEAN_CASES)
def test_appending_the_batches_writes_kafkas_files(name: str) -> None:
    """Rolls where Kafka rolled, too."""
    case = Case(name)
    batches = [
        bytearray(data[position : position + header.size])
        for base in case.bases
        for data in [case.files.content(f"{base:020d}.log")]
        for position, header in scan(data)
    ]
    files = FakeFiles()
    files.mkdir(case.directory)
    segments: list[LogSegment] = []
    for batch in batches:
        [(_, header)] = scan(batch)
        incoming = (len(batch), header.max_timestamp, header.last_offset, 0)
        if not segments or segments[-1].should_roll(*incoming):
            segments.append(
                LogSegment.create(
                    files, case.directory, header.base_offset, case.config, 0
                )
            )
        append(segments[-1], batch)
    bases = [segment.base_offset for segment in segments]
    assert bases == [base for base in case.bases if case.expected(base, ".log")]
    for segment in segments:
        segment.seal()
        if name != "leader-epochs":  # written by several processes
            _assert_files_are_kafkas(case, files, case.directory, segment.base_offset)


def _assert_files_are_kafkas(
    case: Case, files: FakeFiles, directory: Path, base: int
) -> None:
    for kind in (".log", ".index", ".timeindex"):
        path = case.source / f"{base:020d}{kind}"
        if path.exists():  # index-missing-clean
            assert files.content(directory / path.name) == path.read_bytes(), path.name


def test_preallocated_indexes_of_a_killed_broker() -> None:
    case = Case("unclean-kill")
    base = case.bases[-1]
    assert len(case.files.content(f"{base:020d}.index")) == 480
    segment = case.open(base)
    recovery = segment.activate()
    batches = case.expected(base, ".log")
    assert recovery.is_clean
    assert recovery.next_offset == batches[-1]["lastOffset"] + 1
    segment.close()
    index = case.files.content(f"{base:020d}.index")
    assert len(index) == 8 * len(case.expected(base, ".index"))


def test_killed_brokers_segments_are_recovered() -> None:
    case = Case("unclean-kill")
    for base in case.bases:
        segment = case.open(base)
        recovery = segment.recover()
        segment.seal()
        batches = case.expected(base, ".log")
        assert recovery.is_clean
        assert recovery.next_offset == batches[-1]["lastOffset"] + 1
        entries = parse_index(case.files.content(f"{base:020d}.index"))
        assert [(base + e.relative_offset, e.position) for e in entries] == [
            (e["offset"], e["position"]) for e in case.expected(base, ".index")
        ]

"""Indexes that are missing or wrong, and what recovery makes of a segment."""

import logging
from pathlib import Path

import pytest

from odradek.protocol.batch_columns import BatchRun
from odradek.protocol.record_batch import scan
from odradek.storage.files.file_system import Files
from odradek.storage.formats.index_entry import (
    IndexEntry,
    TimeIndexEntry,
    pack_index_entry,
    pack_time_index_entry,
    parse_index,
    parse_time_index,
)
from odradek.storage.segment.log_segment import LogSegment
from tests.fakes.files import FakeFiles
from tests.storage.batches import (
    append,
    batch,
    filled_segment,
    new_segment,
    reopened,
    sized_batch,
)

LOG = "00000000000000000000.log"
INDEX = "00000000000000000000.index"
TIME_INDEX = "00000000000000000000.timeindex"


def closed_segment(files: Files, batches: int = 20) -> LogSegment:
    segment = filled_segment(files, batches=batches, count=5, index_interval_bytes=300)
    segment.close()
    return segment


def index_bytes(files: FakeFiles) -> tuple[bytes, bytes]:
    return files.content(INDEX), files.content(TIME_INDEX)


def plausible(data: bytes) -> bytes:
    """Entries in order, inside the log, and each one wrong by one."""
    if len(data) % 12 == 0 and len(data) % 8:
        times = [(e.timestamp + 1, e.relative_offset) for e in parse_time_index(data)]
        return b"".join(pack_time_index_entry(TimeIndexEntry(*e)) for e in times)
    places = [(e.relative_offset, e.position + 1) for e in parse_index(data)]
    return b"".join(pack_index_entry(IndexEntry(*e)) for e in places)


@pytest.mark.parametrize("name", [INDEX, TIME_INDEX])
@pytest.mark.parametrize(
    "damage", ["missing", "empty", "garbled", "shifted", "half", "plausible"]
)
def test_t066_wrong_index_is_written_anew_when_it_is_needed(
    name: str, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    files = FakeFiles()
    segment = closed_segment(files)
    before = index_bytes(files)
    path = segment.directory / name
    wrong = {
        "empty": b"",
        "garbled": b"\x5a" * len(files.content(name)),
        "shifted": bytes(byte + 1 for byte in files.content(name)),
        "half": files.content(name)[:-1],
        "plausible": plausible(files.content(name)),
    }
    if damage == "missing":
        files.unlink(path)
    else:
        files.put(path, wrong[damage])
    again = reopened(segment)
    for offset in range(100):
        found = again.reader.read(offset, None, 1)
        assert found is not None
        [(_, header)] = scan(found.records)
        assert header.base_offset <= offset <= header.last_offset
    assert again.max_timestamp == 1194
    found_by_time = again.reader.find_offset_by_timestamp(1100)
    assert found_by_time is not None
    assert found_by_time.offset == 50
    if damage != "empty":  # which is right, only slow
        assert index_bytes(files) == before
        assert "written anew" in caplog.text


@pytest.mark.parametrize("name", [INDEX, TIME_INDEX])
@pytest.mark.parametrize("data", [None, b"\x5a" * 24, b"\1" * 7, b"plausible"])
def test_wrong_index_is_written_anew_when_the_segment_grows(
    name: str, data: bytes | None
) -> None:
    files = FakeFiles()
    segment = closed_segment(files)
    before = index_bytes(files)
    if data == b"plausible":
        data = plausible(files.content(name))
    path = segment.directory / name
    files.unlink(path)
    if data is not None:
        files.put(path, data)
    again = reopened(segment)
    recovery = again.activate()
    assert recovery.is_clean
    assert recovery.next_offset == 100
    append(again, batch(100, 5, timestamp=1000))
    again.close()
    assert index_bytes(files) == before


def test_activation_reads_the_tail_only() -> None:
    files = FakeFiles()
    segment = filled_segment(files, batches=2000, count=5, index_interval_bytes=4096)
    segment.close()
    again = reopened(segment)
    size = 0
    read_at = again.log.read_at

    def counted(position: int, wanted: int, may_block: bool = True) -> memoryview:
        nonlocal size
        data = read_at(position, wanted, may_block)
        size += len(data)
        return data

    again.log.read_at = counted  # type: ignore[method-assign]
    assert again.activate().next_offset == 10_000
    assert size < 3 * 4096


def test_activation_reports_a_half_batch_at_the_end() -> None:
    files = FakeFiles()
    segment = closed_segment(files)
    files.cut(LOG, by=7)
    recovery = reopened(segment).activate()
    assert recovery.is_torn
    assert recovery.next_offset == 95
    assert recovery.valid_end == segment.size // 20 * 19


def test_recovery_writes_what_appending_had_written() -> None:
    files = FakeFiles()
    segment = closed_segment(files)
    before = index_bytes(files)
    again = reopened(segment)
    assert again.recover().is_clean
    again.seal()
    assert index_bytes(files) == before


@pytest.mark.parametrize("number", range(0, 21, 3))
def test_recovery_from_any_batch_gives_the_same(number: int) -> None:
    files = FakeFiles()
    segment = closed_segment(files)
    before = index_bytes(files)
    seen = []

    def on_run(run: BatchRun) -> None:
        for position, header, data in run.batches():
            assert len(data) == header.size
            seen.append((position, header.base_offset))

    again = reopened(segment)
    size = segment.size // 20
    recovery = again.recover(number * size, on_run)
    again.seal()
    assert recovery.is_clean
    assert recovery.next_offset == 100
    assert seen == [(n * size, n * 5) for n in range(number, 20)]
    assert index_bytes(files) == before


def test_recovery_of_a_killed_segment_needs_no_index_file() -> None:
    files = FakeFiles()
    segment = filled_segment(files, batches=20, count=5, index_interval_bytes=300)
    assert not files.exists(segment.directory / INDEX)
    again = reopened(segment)
    assert again.recover().next_offset == 100
    again.seal()
    killed = index_bytes(files)
    other = FakeFiles()
    closed_segment(other)
    assert killed == index_bytes(other)


def test_torn_tail_is_cut_and_the_log_goes_on() -> None:
    files = FakeFiles()
    segment = closed_segment(files)
    files.cut(LOG, by=7)
    again = reopened(segment)
    recovery = again.recover()
    assert recovery.is_torn
    again.cut(recovery.valid_end)
    append(again, batch(recovery.next_offset, 5))
    assert again.recover().is_clean
    found = again.reader.read(97, None, 1 << 20)
    assert found is not None
    assert found.position == recovery.valid_end


def test_recovered_bytes_are_trusted_and_damaged_ones_are_not() -> None:
    files = FakeFiles()
    segment = closed_segment(files)
    clean = reopened(segment)
    clean.recover()
    assert clean.reader.verification.trusted_from == 0
    files.flip(LOG, 1000)
    damaged = reopened(segment)
    assert damaged.recover().damaged
    assert damaged.reader.verification.trusted_from == segment.size


def test_preallocated_tail_of_a_log_is_torn() -> None:
    files = FakeFiles()
    segment = closed_segment(files)
    files.extend(LOG, bytes(100_000))
    again = reopened(segment)
    recovery = again.recover()
    assert (recovery.valid_end, recovery.next_offset) == (segment.size, 100)
    again.cut(recovery.valid_end)
    assert files.size(segment.directory / LOG) == segment.size


def test_max_timestamp_without_index_entries(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    files = FakeFiles()
    segment = new_segment(files)
    append(segment, batch(0, timestamp=-1))
    append(segment, batch(1, timestamp=500))
    segment.flush_indexes()  # a kill: the last time entry is missing
    again = reopened(segment)
    assert (again.max_timestamp, again.offset_of_max_timestamp) == (500, 1)
    assert not caplog.text


def test_segment_without_records_has_no_timestamp(tmp_path: Path) -> None:
    segment = new_segment()
    segment.close()
    again = reopened(segment)
    assert again.max_timestamp == -1
    assert again.reader.find_offset_by_timestamp(0) is None
    assert again.recover().next_offset == 0


def test_a_scan_makes_the_entries_that_appends_make() -> None:
    """Also when exactly the interval has gone by, which is not enough."""
    files = FakeFiles()
    segment = new_segment(files, index_interval_bytes=200)
    for number in range(10):
        append(segment, sized_batch(number, 100, timestamp=1000 + number))
    segment.close()
    before = index_bytes(files)
    assert [each.position for each in parse_index(before[0])] == [300, 600, 900]
    again = reopened(segment)
    again.recover()
    again.close()
    assert index_bytes(files) == before

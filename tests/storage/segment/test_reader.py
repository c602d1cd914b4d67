"""Reading a segment by offset and by time, and what a reader never gets."""

import pytest

from odradek.protocol.errors import CorruptMessage
from odradek.protocol.record_batch import scan
from odradek.storage.files.file_system import ColdRead
from odradek.storage.formats.quarantine_entry import QuarantineEntry
from odradek.storage.segment.batch_verification import DamagedBatch
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.values.log_read import TimestampOffset
from tests.fakes.files import FakeFiles
from tests.storage.batches import append, batch, filled_segment, new_segment, reopened


def test_t025_read_mid_batch_returns_whole_batch() -> None:
    segment = filled_segment(batches=3, count=5)
    found = segment.reader.read(7, None, 1 << 20)
    assert found is not None
    headers = [header for _, header in scan(found.records)]
    assert [header.base_offset for header in headers] == [5, 10]
    assert found.position == headers[0].size
    assert not found.first_batch_incomplete


def test_t026_read_at_gap_moves_forward() -> None:
    segment = new_segment()
    append(segment, batch(40, 10))
    append(segment, batch(60, 5))
    found = segment.reader.read(55, None, 1 << 20)
    assert found is not None
    assert next(scan(found.records))[1].base_offset == 60


def test_read_behind_the_last_batch_is_none() -> None:
    assert filled_segment(batches=3, count=5).reader.read(15, None, 1 << 20) is None
    assert new_segment().reader.read(0, None, 1 << 20) is None


def test_read_is_cut_at_exactly_size_max() -> None:
    segment = filled_segment(batches=4, count=5)
    whole = bytes(segment.log.read_at(0, 1 << 20))
    size = len(whole) // 4
    for size_max in (size, size + 1, 2 * size - 1, 3 * size + 60):
        found = segment.reader.read(0, None, size_max)
        assert found is not None
        assert found.records == whole[:size_max]
        assert not found.first_batch_incomplete


@pytest.mark.parametrize("size_max", [0, 1, 11, 60, 61, 100])
def test_first_batch_is_whole_with_min_one_and_cut_without(size_max: int) -> None:
    segment = filled_segment(batches=2, count=5)
    first = bytes(segment.log.read_at(0, segment.size // 2))
    whole = segment.reader.read(0, None, size_max)
    cut = segment.reader.read(0, None, size_max, min_one=False)
    assert whole is not None
    assert cut is not None
    assert whole.records == first
    assert not whole.first_batch_incomplete
    assert cut.records == first[:size_max]
    assert cut.first_batch_incomplete


def test_read_ends_at_max_position() -> None:
    segment = filled_segment(batches=4, count=5)
    size = segment.size // 4
    found = segment.reader.read(5, 3 * size, 1 << 20)
    assert found is not None
    assert (found.position, len(found.records)) == (size, 2 * size)
    behind = segment.reader.read(10, size, 1 << 20)
    assert behind is not None
    assert (behind.position, behind.records) == (2 * size, b"")


@pytest.mark.parametrize("interval", [0, 300, 4096, 1 << 30])
def test_every_offset_is_found_whatever_the_interval(interval: int) -> None:
    segment = filled_segment(batches=40, count=3, index_interval_bytes=interval)
    segment.seal()
    for offset in range(120):
        found = segment.reader.read(offset, None, 1)
        assert found is not None
        [(_, header)] = scan(found.records)
        assert header.base_offset <= offset <= header.last_offset


def test_a_small_read_takes_one_system_call() -> None:
    files = FakeFiles()
    segment = filled_segment(files, batches=4, count=5)
    for offset in (0, 7, 19):
        files.counts.clear()
        found = segment.reader.read(offset, None, 1 << 20)
        assert found is not None
        assert files.counts["read"] == 1


def test_remembered_place_gives_the_first_batch_whole_too() -> None:
    segment = filled_segment(batches=4, count=5)
    segment.reader.remember((0, 0), (20, segment.size))
    append(segment, batch(20, 5))
    found = segment.reader.read(20, None, 10)
    assert found is not None
    assert next(scan(found.records))[1].base_offset == 20
    cut = segment.reader.read(20, None, 10, min_one=False)
    assert cut is not None
    assert cut.first_batch_incomplete


def test_cold_bytes_are_refused_when_the_reader_must_not_wait() -> None:
    files = FakeFiles()
    segment = filled_segment(files)
    files.chill("00000000000000000000.log")
    with pytest.raises(ColdRead) as raised:
        segment.reader.read(7, None, 100_000, may_block=False)
    assert raised.value.size >= 100_000
    raised.value.warm()
    assert segment.reader.read(7, None, 100, may_block=False) is not None


# Checksums.


def damaged(number: int, at: int = 61) -> LogSegment:
    """Four batches of five, of which one has a flipped bit; opened again."""
    files = FakeFiles()
    segment = filled_segment(files, batches=4, count=5)
    segment.close()
    files.flip("00000000000000000000.log", number * (segment.size // 4) + at)
    again = reopened(segment)
    again.activate()
    return again


def test_damaged_batch_is_refused_by_name() -> None:
    segment = damaged(1)
    with pytest.raises(CorruptMessage, match=r"00000\.log: position \d+"):
        segment.reader.read(7, None, 1 << 20)


def test_batches_before_and_behind_a_damaged_one_are_served() -> None:
    segment = damaged(1)
    before = segment.reader.read(0, None, 1 << 20)
    size = segment.size // 4
    segment.reader.quarantined = [QuarantineEntry(0, size, 2 * size, 5, 9, "test")]
    behind = segment.reader.read(10, None, 1 << 20)
    assert before is not None
    assert behind is not None
    assert len(before.records) == segment.size // 4
    assert len(behind.records) == segment.size // 2


def test_length_that_leaves_the_segment_is_damage() -> None:
    segment = damaged(3, at=8)
    with pytest.raises(CorruptMessage, match="cut short"):
        segment.reader.read(15, None, 1 << 20)


def test_appended_batches_are_not_verified() -> None:
    segment = new_segment()
    data = batch(0)
    data[-1] ^= 1
    append(segment, data)
    found = segment.reader.read(0, None, 1 << 20)
    assert found is not None
    assert found.records == data


@pytest.mark.parametrize("is_recovered", [True, False])
def test_the_way_to_a_trusted_batch_begins_before_it(is_recovered: bool) -> None:
    """Only what leads up to it is to be verified, not the batch that was found."""
    segment = reopened(filled_segment(batches=3, count=5))
    if is_recovered:
        first = segment.reader.find(0)
        assert first is not None
        segment.recover(2 * first[1])  # the last batch
    else:
        segment.activate()
        append(segment, batch(15, 5))
    offset = 10 if is_recovered else 15
    found = segment.reader.read(offset, None, 1 << 20)
    assert found is not None
    assert next(scan(found.records))[1].base_offset == offset


# Searching by time.


def segment_with_timestamps(*timestamps: int, interval: int = 0) -> LogSegment:
    segment = new_segment(index_interval_bytes=interval)
    for number, timestamp in enumerate(timestamps):
        append(segment, batch(2 * number, 2, timestamp=timestamp))
    return segment


@pytest.mark.parametrize("interval", [0, 150, 4096])
@pytest.mark.parametrize("is_reopened", [False, True])
def test_first_record_not_earlier(interval: int, is_reopened: bool) -> None:
    timestamps = [1000, 3000, 3000, 2000, 5000, 4000, 5000]
    segment = segment_with_timestamps(*timestamps, interval=interval)
    if is_reopened:
        segment.close()
        segment = reopened(segment)
    records = [
        TimestampOffset(timestamp + extra, 2 * number + extra, -1)
        for number, timestamp in enumerate(timestamps)
        for extra in (0, 1)
    ]
    for timestamp in [0, *range(999, 5003)]:
        expected = next((r for r in records if r.timestamp >= timestamp), None)
        assert segment.reader.find_offset_by_timestamp(timestamp) == expected


def test_search_by_time_starts_at_an_offset() -> None:
    segment = segment_with_timestamps(1000, 3000, 2000)
    found = segment.reader.find_offset_by_timestamp(500, start_offset=3)
    assert found == TimestampOffset(3001, 3, -1)
    assert segment.reader.find_offset_by_timestamp(2500, start_offset=4) is None


def test_search_by_time_names_damage() -> None:
    segment = damaged(1)
    with pytest.raises(CorruptMessage, match=r"00000\.log"):
        segment.reader.find_offset_by_timestamp(1012)


# First reads.


def test_only_the_first_read_compares_checksums() -> None:
    files = FakeFiles()
    segment = filled_segment(files, batches=4, count=5)
    segment.close()
    again = reopened(segment)
    again.activate()
    for offset in (10, 0, 15, 5):
        assert again.reader.read(offset, None, 1) is not None
    assert again.reader.verification.trusted_from == 0


def test_mangled_length_does_not_lead_past_sound_batches() -> None:
    """It says twice the length: the batch behind would never be seen."""
    files = FakeFiles()
    segment = filled_segment(files, batches=4, count=5)
    segment.close()
    size = segment.size // 4
    content = bytearray(files.content("00000000000000000000.log"))
    content[8:12] = (2 * size - 12).to_bytes(4, "big")
    files.put(segment.log.path, bytes(content))
    again = reopened(segment)
    with pytest.raises(DamagedBatch):
        again.reader.read(7, None, 1 << 20)


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("base_offset", [0, 4, 3000])
def test_offset_that_contradicts_its_neighbours_is_damage(
    number: int, base_offset: int
) -> None:
    files = FakeFiles()
    segment = filled_segment(files, batches=4, count=5)
    segment.close()
    size = segment.size // 4
    content = bytearray(files.content("00000000000000000000.log"))
    content[number * size : number * size + 8] = base_offset.to_bytes(8, "big")
    files.put(segment.log.path, bytes(content))
    again = reopened(segment)
    again.reader.end.put_before(20)
    with pytest.raises(DamagedBatch):
        again.reader.read(5 * number, None, 1 << 20)

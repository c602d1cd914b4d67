"""A segment with damaged ranges: read, searched, truncated, opened again.

Four batches of five records, the second quarantined.
"""

import pytest

from odradek.protocol.record_batch import check_crc, scan
from odradek.storage.formats.quarantine_entry import QuarantineEntry
from odradek.storage.segment.log_segment import LogSegment
from tests.storage.batches import append, batch, new_segment, reopened
from tests.storage.segment.test_reader import damaged, segment_with_timestamps


def with_range(base_offset: int = 5) -> LogSegment:
    segment = damaged(1)
    size = segment.size // 4
    segment.reader.quarantined = [
        QuarantineEntry(0, size, 2 * size, base_offset, 9, "test", 3)
    ]
    return segment


def test_read_that_begins_in_a_range_is_an_empty_batch() -> None:
    segment = with_range()
    for offset in range(5, 10):
        found = segment.reader.read(offset, None, 1 << 20)
        assert found is not None
        assert found.position == segment.size // 4
        [(_, header)] = scan(found.records)
        assert check_crc(found.records, header)
        assert (header.base_offset, header.last_offset) == (5, 9)
        assert (header.records_count, header.partition_leader_epoch) == (0, 3)


def test_read_that_reaches_a_range_ends_before_it() -> None:
    segment = with_range()
    found = segment.reader.read(2, None, 1 << 20)
    assert found is not None
    assert [header.last_offset for _, header in scan(found.records)] == [4]


def test_search_goes_past_a_range() -> None:
    segment = with_range()
    size = segment.size // 4
    assert segment.reader.find(7) == (size, 0)
    assert segment.reader.find(12) == (2 * size, size)
    found = segment.reader.find_offset_by_timestamp(1012)
    assert found is not None
    assert (found.offset, found.timestamp) == (10, 1020)


@pytest.mark.parametrize("size_max", [0, 30, 60])
def test_empty_batch_counts_as_a_batch(size_max: int) -> None:
    segment = with_range()
    whole = segment.reader.read(5, None, size_max)
    cut = segment.reader.read(5, None, size_max, min_one=False)
    assert whole is not None
    assert cut is not None
    assert (len(whole.records), len(cut.records)) == (61, size_max)
    assert cut.first_batch_incomplete


def test_range_that_may_not_be_seen_yet_is_not() -> None:
    segment = with_range()
    size = segment.size // 4
    found = segment.reader.read(7, 2 * size - 1, 1 << 20)
    assert found is not None
    assert not found.records


def test_gap_before_a_range_leads_to_it() -> None:
    segment = with_range(base_offset=7)
    found = segment.reader.read(5, None, 1 << 20)
    assert found is not None
    assert next(scan(found.records))[1].base_offset == 7


def test_range_without_offsets_is_stepped_over() -> None:
    segment = new_segment()
    append(segment, batch(0, 5))
    append(segment, batch(0, 1))  # nobody's
    size = segment.size
    append(segment, batch(5, 5))
    start = len(batch(0, 5))
    segment.reader.quarantined = [QuarantineEntry(0, start, size, 5, 4, "test")]
    for offset, position in [(0, 0), (4, 0), (5, size), (9, size)]:
        found = segment.reader.read(offset, None, 1 << 20)
        assert found is not None
        assert found.position == position
    assert segment.reader.read(10, None, 1 << 20) is None


def test_hole_at_the_end_is_an_empty_batch() -> None:
    segment = damaged(3)
    size = segment.size
    segment.cut(size // 4 * 3)
    end = segment.size
    segment.reader.quarantined = [QuarantineEntry(0, end, end, 15, 19, "test")]
    found = segment.reader.read(16, None, 100)
    assert found is not None
    assert next(scan(found.records))[1].next_offset == 20
    append(segment, batch(20, 5))
    found = segment.reader.read(12, None, 1 << 20)
    assert found is not None
    assert [header.last_offset for _, header in scan(found.records)] == [14]
    found = segment.reader.read(20, None, 1 << 20)
    assert found is not None
    assert next(scan(found.records))[1].last_offset == 24


def test_largest_timestamp_is_that_of_a_sound_batch() -> None:
    timestamps = [1000, 2000, 9000, 3000, 8000, 4000]
    segment = segment_with_timestamps(*timestamps)
    size = segment.size // len(timestamps)
    ranges = [
        QuarantineEntry(0, n * size, (n + 1) * size, 2 * n, 2 * n + 1, "test")
        for n in (2, 4)
    ]
    segment.reader.quarantined = ranges[:1]
    assert (segment.max_timestamp, segment.offset_of_max_timestamp) == (8001, 9)
    segment.reader.quarantined = ranges
    assert (segment.max_timestamp, segment.offset_of_max_timestamp) == (4001, 11)
    append(segment, batch(12, 2, timestamp=8500))
    assert segment.max_timestamp == 8501
    segment.close()
    again = reopened(segment)
    again.reader.quarantined = ranges
    assert again.max_timestamp == 8501
    found = again.reader.find_offset_by_timestamp(7000)
    assert found is not None
    assert found.offset == 12


# Truncation in and around a range: batches of five at 0, 5, 10, 15.


@pytest.mark.parametrize(
    ("offset", "batches"), [(3, 0), (5, 1), (7, 1), (9, 1), (10, 2), (12, 2), (16, 3)]
)
def test_truncation_cuts_the_whole_range(offset: int, batches: int) -> None:
    segment = with_range()
    size = segment.size // 4
    segment.truncate_to(offset, now_ms=0)
    assert segment.size == batches * size


@pytest.mark.parametrize("number", [1, 3])
def test_activation_and_recovery_know_a_range(number: int) -> None:
    segment = damaged(number)
    size, end = segment.size // 4, segment.size
    entry = QuarantineEntry(
        0, number * size, (number + 1) * size, 5 * number, 5 * number + 4, "test"
    )
    for way in (LogSegment.activate, LogSegment.recover):
        again = reopened(segment)
        again.reader.quarantined = [entry]
        recovery = way(again)
        assert (recovery.valid_end, recovery.next_offset) == (end, 20)

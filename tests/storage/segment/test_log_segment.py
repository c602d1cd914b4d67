import sys
from pathlib import Path

import pytest

from odradek.protocol.record_batch import scan
from odradek.storage.files.file_system import DiskFull, StorageFailure
from odradek.storage.files.files import OsFiles
from odradek.storage.indexes.time_index import TimestampedBatch
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.values.log_config import LogConfig
from tests.fakes.files import FakeFiles
from tests.storage.batches import (
    append,
    batch,
    filled_segment,
    new_segment,
    reopened,
    sized_batch,
)

HOUR_MS = 3_600_000


def rolls(segment: LogSegment, data: bytearray, now_ms: int = 0) -> bool:
    [(_, header)] = scan(data)
    return segment.should_roll(
        len(data), header.max_timestamp, header.last_offset, now_ms
    )


def index_entries(segment: LogSegment) -> list[tuple[int, int]]:
    """Offset and position of every entry of the offset index."""
    positions = [position for position, _ in scan(segment.log.read_at(0, 1 << 30))]
    found = {segment.indexes.floor(offset) for offset in range(2000)}
    assert {entry.position for entry in found} <= {0, *positions}
    return sorted(tuple(entry) for entry in found if entry.position)


# Rolling.


def test_t017_exact_fit_does_not_roll() -> None:
    segment = new_segment(segment_bytes=300)
    append(segment, sized_batch(0, 200))
    assert not rolls(segment, sized_batch(1, 100))
    assert rolls(segment, sized_batch(1, 101))


def test_t020_time_roll_uses_event_time() -> None:
    segment = new_segment(segment_ms=HOUR_MS)
    append(segment, batch(0, timestamp=1000))
    assert not rolls(segment, batch(1, timestamp=1000 + HOUR_MS), now_ms=99 * HOUR_MS)
    assert rolls(segment, batch(1, timestamp=1001 + HOUR_MS), now_ms=0)
    assert not rolls(segment, batch(1, timestamp=0), now_ms=99 * HOUR_MS)


def test_event_time_counts_from_the_first_batch_after_a_restart() -> None:
    segment = new_segment(segment_ms=HOUR_MS)
    append(segment, batch(0, timestamp=1000))
    append(segment, batch(1, timestamp=500_000))
    segment.close()
    again = reopened(segment)
    again.activate()
    assert not rolls(again, batch(2, timestamp=1000 + HOUR_MS), now_ms=99 * HOUR_MS)
    assert rolls(again, batch(2, timestamp=1001 + HOUR_MS))


def test_t021_no_timestamp_roll_uses_wall_clock_since_creation() -> None:
    segment = new_segment(segment_ms=HOUR_MS)
    append(segment, batch(0, timestamp=-1))
    assert not rolls(segment, batch(1, timestamp=-1), now_ms=HOUR_MS)
    assert rolls(segment, batch(1, timestamp=-1), now_ms=HOUR_MS + 1)


def test_t021_empty_segment_never_rolls_by_time() -> None:
    segment = new_segment(segment_ms=HOUR_MS)
    assert not rolls(segment, batch(0, timestamp=9 * HOUR_MS), now_ms=9 * HOUR_MS)


def test_t022_roll_when_time_index_has_one_slot_left() -> None:
    segment = new_segment(segment_index_bytes=36, index_interval_bytes=0)
    append(segment, batch(0, timestamp=1000))
    append(segment, batch(1, timestamp=2000))
    assert not rolls(segment, batch(2, timestamp=3000))
    append(segment, batch(2, timestamp=3000))
    assert segment.indexes.times.count == 2
    assert rolls(segment, batch(3, timestamp=4000))


def test_t022_reserved_slot_is_filled_with_the_largest_timestamp() -> None:
    segment = new_segment(index_interval_bytes=100)
    for offset, timestamp in enumerate([1000, 2000, 3000, 9000]):
        append(segment, sized_batch(offset, 100, timestamp=timestamp))
    assert segment.indexes.times.last == TimestampedBatch(3000, 2)
    segment.seal()
    assert segment.indexes.times.last == TimestampedBatch(9000, 3)


def test_full_offset_index_rolls() -> None:
    segment = new_segment(segment_index_bytes=31, index_interval_bytes=0)
    for offset in range(4):
        assert not rolls(segment, batch(offset, timestamp=-1))
        append(segment, batch(offset, timestamp=-1))
    assert rolls(segment, batch(4, timestamp=-1))


def test_offset_too_far_from_the_base_rolls() -> None:
    segment = new_segment(base_offset=10)
    append(segment, batch(10))
    assert not rolls(segment, batch(10 + 2**31 - 1))
    assert rolls(segment, batch(10 + 2**31))
    with pytest.raises(AssertionError):
        append(segment, batch(10 + 2**31))


def test_jitter_rolls_earlier_and_is_drawn_for_each_segment() -> None:
    def age_of_roll() -> int:
        segment = new_segment(segment_ms=1000, segment_jitter_ms=500)
        append(segment, batch(0, timestamp=0))
        ages = [age for age in range(1002) if rolls(segment, batch(1, timestamp=age))]
        return ages[0]

    ages = {age_of_roll() for _ in range(20)}
    assert len(ages) > 1
    assert min(ages) > 500
    assert max(ages) <= 1001


# Index entries.


def test_first_batch_is_never_indexed_and_the_interval_is_strict() -> None:
    segment = new_segment(index_interval_bytes=200)
    for offset in range(8):
        append(segment, sized_batch(offset, 100))
    # 200 bytes since the start are not more than 200: batch 3 is the first.
    assert index_entries(segment) == [(3, 300), (6, 600)]


def test_entry_is_the_last_offset_at_the_start_of_the_batch() -> None:
    segment = filled_segment(batches=2, count=5, index_interval_bytes=0)
    first_size = next(scan(segment.log.read_at(0, 1 << 20)))[1].size
    assert index_entries(segment) == [(9, first_size)]


def test_t019_many_at_once_are_indexed_as_if_one_came_after_the_other() -> None:
    """As in Apache Kafka 4.3; older ones gave all of them one entry at most."""
    one_by_one, at_once = (new_segment(index_interval_bytes=100) for _ in range(2))
    batches = [batch(2 * n, 2, timestamp=1000 + 7 * n % 5) for n in range(9)]
    for each in batches:
        append(one_by_one, each)
    at_once.append_batches(b"".join(batches))
    assert index_entries(at_once) == index_entries(one_by_one)
    assert at_once.indexes.latest == one_by_one.indexes.latest
    assert at_once.first_timestamp() == one_by_one.first_timestamp()
    assert at_once.indexes.times.count == one_by_one.indexes.times.count


def test_counter_restarts_when_reopened() -> None:
    segment = new_segment(index_interval_bytes=200)
    for offset in range(3):
        append(segment, sized_batch(offset, 100))
    segment.close()
    again = reopened(segment)
    again.activate()
    append(again, sized_batch(3, 100))
    assert index_entries(again) == []


def test_max_timestamp_belongs_to_its_batchs_last_offset() -> None:
    segment = new_segment()
    append(segment, batch(0, 3, timestamp=5000))
    append(segment, batch(3, 3, timestamp=1000))
    assert segment.max_timestamp == 5002
    assert segment.offset_of_max_timestamp == 2


def test_largest_timestamp_without_timestamps_is_that_of_the_file() -> None:
    files = FakeFiles()
    files.now_ms = 777
    segment = new_segment(files)
    append(segment, batch(0, timestamp=-5))
    assert segment.max_timestamp == -1
    assert segment.largest_timestamp() == 777
    append(segment, batch(1, timestamp=5))
    assert segment.largest_timestamp() == 5


@pytest.mark.parametrize("interval", [0, 200, 4096])
def test_max_timestamp_is_found_again_after_a_stop(interval: int) -> None:
    segment = new_segment(index_interval_bytes=interval)
    for offset, timestamp in enumerate([3000, 9000, 2000, 4000]):
        append(segment, batch(offset, timestamp=timestamp))
    segment.close()
    sealed, active = reopened(segment), reopened(segment)
    active.activate()
    for again in (sealed, active):
        assert (again.max_timestamp, again.offset_of_max_timestamp) == (9000, 1)


# Appending.


@pytest.mark.parametrize(("code", "error"), [(28, DiskFull), (5, StorageFailure)])
def test_failed_append_changes_nothing(code: int, error: type[Exception]) -> None:
    files = FakeFiles()
    segment = filled_segment(files, index_interval_bytes=0)
    before = (segment.size, segment.max_timestamp, index_entries(segment))
    files.fail("append", error=code)
    with pytest.raises(error):
        append(segment, batch(50, timestamp=99_000))
    assert before == (segment.size, segment.max_timestamp, index_entries(segment))
    append(segment, batch(50))
    assert segment.size > before[0]


def test_append_is_one_write() -> None:
    files = FakeFiles()
    segment = filled_segment(files, batches=1)
    before = files.counts.total()
    append(segment, batch(5))
    assert files.counts.total() == before + 1


def test_dirty_files_are_the_log_and_written_indexes() -> None:
    segment = filled_segment(index_interval_bytes=0)
    assert [file.path.suffix for file in segment.dirty_files()] == [".log"]
    segment.flush_indexes()
    names = [file.path.suffix for file in segment.dirty_files()]
    assert names == [".log", ".index", ".timeindex"]
    for file in segment.dirty_files():
        file.sync()
    assert segment.dirty_files() == []


# The end of a segment.


def test_t028_truncate_mid_batch_cuts_the_whole_batch() -> None:
    segment = filled_segment(batches=10, count=5, index_interval_bytes=0)
    size = segment.size // 10
    assert segment.truncate_to(23, now_ms=0) == 6 * size
    assert segment.size == 4 * size
    assert index_entries(segment)[-1] == (19, 3 * size)
    assert segment.max_timestamp == 1034
    append(segment, batch(23))
    assert segment.reader.read(20, None, 1 << 20) is not None


def test_truncated_sealed_segment_grows_again() -> None:
    segment = filled_segment(batches=10, count=5, index_interval_bytes=0)
    segment.close()
    again = reopened(segment)
    again.truncate_to(25, now_ms=0)
    append(again, batch(25))
    assert again.indexes.offsets.is_growing
    assert index_entries(again)[-1][0] == 24


def test_t029_truncate_to_zero_resets_created_time() -> None:
    segment = filled_segment(batches=2, segment_ms=HOUR_MS)
    segment.truncate_to(0, now_ms=5 * HOUR_MS)
    assert segment.size == 0
    assert segment.max_timestamp == -1
    append(segment, batch(0, timestamp=-1))
    assert not rolls(segment, batch(1, timestamp=-1), now_ms=6 * HOUR_MS)
    assert rolls(segment, batch(1, timestamp=-1), now_ms=6 * HOUR_MS + 1)


def test_truncate_behind_the_end_cuts_nothing() -> None:
    segment = filled_segment(batches=2, count=5)
    assert segment.truncate_to(10, now_ms=0) == 0


def test_seal_twice_is_seal_once() -> None:
    segment = filled_segment(index_interval_bytes=0)
    segment.seal()
    count = segment.indexes.times.count
    segment.seal()
    segment.close()
    assert segment.indexes.times.count == count


def test_deleted_segment_is_renamed_first() -> None:
    files = FakeFiles()
    segment = filled_segment(files)
    segment.seal()
    segment.rename_deleted()
    assert {path.suffix for path in files.paths()} == {".deleted"}
    assert segment.reader.read(7, None, 1 << 20) is not None
    segment.delete_files()
    assert files.paths() == []


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_nothing_of_a_deleted_segment_stays_open(tmp_path: Path) -> None:
    """Not even where somebody still holds the segment itself."""
    segment = LogSegment.create(
        OsFiles(), tmp_path, 0, LogConfig(index_interval_bytes=0), now_ms=0
    )
    for number in range(10):
        append(segment, batch(number))
    segment.seal()
    assert segment.reader.read(7, None, 1 << 20) is not None
    assert segment.indexes.offset_before_time(1000) >= 0
    segment.rename_deleted()
    segment.delete_files()
    links = [each.resolve() for each in Path("/proc/self/fd").iterdir()]
    assert str(tmp_path) not in Path("/proc/self/maps").read_text()
    assert not [each for each in links if tmp_path in each.parents]


def test_segment_follows_its_directory() -> None:
    files = FakeFiles()
    segment = filled_segment(files)
    elsewhere = segment.directory.with_name("topic-0.abc-delete")
    files.rename(segment.directory, elsewhere)
    segment.moved(elsewhere)
    segment.close()
    assert segment.reader.read(7, None, 1 << 20) is not None
    assert {path.parent for path in files.paths()} == {elsewhere}


def test_options_can_change() -> None:
    segment = filled_segment(batches=2)
    segment.config = new_segment(index_interval_bytes=0, segment_bytes=10).config
    assert rolls(segment, batch(10))
    append(segment, batch(10))
    assert len(index_entries(segment)) == 1


def test_old_files_in_the_way_are_emptied() -> None:
    files = FakeFiles()
    filled_segment(files, index_interval_bytes=0).close()
    assert new_segment(files).size == 0
    assert new_segment(files).reader.read(0, None, 100) is None

"""Which segments go by size, by time and by log start, and which stay."""

import errno

import pytest

from storage.files import StorageFailure
from storage.log_retention import delete_old_segments
from storage.unified_log import UnifiedLog
from tests.fakes.files import FakeFiles

from .logs import DIRECTORY, NOW, new_log, offsets, produce, reopened, sync


def segments_of(log: UnifiedLog) -> list[int]:
    return [segment.base_offset for segment in log.local.segments]


def filled(batches: int = 4, spacing_ms: int = 0, **options: object) -> UnifiedLog:
    """A batch of two records a segment, the newest ``spacing_ms`` old, replicated."""
    log = new_log(segment_bytes=200, **options)
    for number in range(batches):
        age_ms = spacing_ms * (batches - number)
        produce(log, 2, value=bytes(40), timestamp=NOW - age_ms)
    sync(log)
    assert segments_of(log) == [2 * number for number in range(batches)]
    return log


def retain(log: UnifiedLog, now_ms: int = NOW) -> int:
    return len(delete_old_segments(log, now_ms))


def test_t057_size_retention_leaves_less_than_a_segment_extra() -> None:
    size = filled().local.active.size
    for limit, left in ((4, 4), (3, 3), (2.5, 3), (1, 1), (0.5, 1), (0, 1)):
        log = filled(retention_bytes=int(limit * size), retention_ms=-1)
        assert retain(log) == 4 - left + (limit == 0)
        assert len(segments_of(log)) == left


def test_without_limits_everything_stays() -> None:
    log = filled(spacing_ms=10**9, retention_bytes=-1, retention_ms=-1)
    assert retain(log, NOW * 2) == 0


def test_t059_time_retention_strict_boundary() -> None:
    log = filled(spacing_ms=1000, retention_ms=3000)
    assert retain(log, NOW) == 1
    assert (segments_of(log), log.log_start_offset) == ([2, 4, 6], 2)
    assert retain(log, NOW) == 0
    assert retain(log, NOW + 1) == 1
    assert offsets(log) == [4, 5, 6, 7]


def test_a_later_segment_never_goes_before_an_earlier_one() -> None:
    log = new_log(segment_bytes=200, retention_ms=1000)
    for timestamp in (NOW - 9000, NOW + 9000, NOW - 9000, NOW - 9000):
        produce(log, 2, value=bytes(40), timestamp=timestamp)
    sync(log)
    retain(log)
    assert segments_of(log) == [2, 4, 6]


def test_t060_segment_at_or_above_hw_not_deleted() -> None:
    log = filled(retention_ms=0)
    produce(log, 2, value=bytes(40), timestamp=NOW)
    assert retain(log, NOW + 1) == 4
    assert segments_of(log) == [8]
    assert retain(log, NOW + 1) == 0
    sync(log)
    assert retain(log, NOW + 1) == 1


def test_t061_all_segments_expired_rolls_empty_active() -> None:
    log = filled(retention_ms=0)
    assert retain(log, NOW + 1) == 4
    assert segments_of(log) == [8]
    assert log.log_start_offset == log.log_end_offset == 8
    assert retain(log, NOW + 1) == 0
    assert produce(log).base_offset == 8


def test_on_a_full_disk_what_is_before_the_active_segment_makes_room() -> None:
    log = filled(retention_ms=0)
    files = log.local.files
    assert isinstance(files, FakeFiles)
    files.fail("open", error=errno.ENOSPC)
    assert retain(log, NOW + 1) == 3
    assert segments_of(log) == [6]
    assert retain(log, NOW + 1) == 1


def test_t062_compact_only_topic_deletes_below_start_only() -> None:
    log = filled(
        cleanup_policy=frozenset({"compact"}), retention_ms=0, retention_bytes=0
    )
    assert retain(log, NOW + 1) == 0
    log.increment_log_start(5)
    assert retain(log, NOW + 1) == 2
    assert segments_of(log) == [4, 6]


def test_t064_no_timestamps_falls_back_to_mtime() -> None:
    files = FakeFiles()
    log = new_log(files, segment_bytes=200, retention_ms=1000)
    for number in range(3):
        files.now_ms = NOW + 1000 * number
        produce(log, 2, value=bytes(40), timestamp=-1)
    sync(log)
    assert retain(log, NOW + 1001) == 1


def test_files_are_renamed_and_snapshots_go() -> None:
    files = FakeFiles()
    log = new_log(files, segment_bytes=200, retention_ms=0)
    for number in range(3):
        produce(log, 2, value=bytes(40), timestamp=NOW + 10 * number)
    sync(log)
    gone = delete_old_segments(log, NOW + 11)
    assert [segment.base_offset for segment in gone] == [0, 2]
    names = files.listdir(DIRECTORY)
    assert f"{2:020d}.log.deleted" in names
    assert f"{2:020d}.snapshot" not in names
    assert f"{4:020d}.snapshot" in names
    for segment in gone:
        segment.delete_files()
    assert not [name for name in files.listdir(DIRECTORY) if "deleted" in name]
    assert offsets(reopened(log)) == [4, 5]


def test_a_read_that_is_under_way_goes_on() -> None:
    log = filled(retention_ms=0)
    data = log.read(0, 1000).records
    kept = bytes(data)
    retain(log, NOW + 1)
    assert data == kept


def test_a_failed_log_keeps_everything() -> None:
    log = filled(retention_ms=0)
    files = log.local.files
    assert isinstance(files, FakeFiles)
    produce(log)
    ticket = log.begin_sync()
    assert ticket
    files.fail("sync")
    with pytest.raises(StorageFailure) as raised:
        ticket.run()
    log.fail(raised.value)
    assert retain(log, NOW + 1) == 0

"""Which segments go by size, by time and by log start, and which stay."""

import errno

import pytest

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.files import StorageFailure
from odradek.storage.formats.quarantine_entry import QuarantineEntry
from odradek.storage.log.retention import (
    RetentionReason,
    delete_breached_segments,
    delete_old_segments,
)
from odradek.storage.log.unified_log import UnifiedLog
from tests.fakes.files import FakeFiles
from tests.storage.batches import batch
from tests.storage.logs import DIRECTORY, NOW, new_log, offsets, produce, reopened, sync


def segments_of(log: UnifiedLog) -> list[int]:
    return [segment.base_offset for segment in log.local.segments]


def filled(batches: int = 4, spacing_ms: int = 0, **options: object) -> UnifiedLog:
    """A batch of two records a segment, the newest ``spacing_ms`` old, replicated."""
    log = new_log(None, segment_bytes=200, **options)
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


def test_what_truncation_took_out_goes_although_retention_could_not() -> None:
    log = filled(retention_ms=0)
    files = log.local.files
    assert isinstance(files, FakeFiles)
    log.truncation.truncate_to(4, NOW)
    files.fail("rename", error=errno.ENOSPC)
    files.fail("unlink", error=errno.ENOSPC)
    with pytest.raises(KafkaStorageError):
        retain(log, NOW + 1)
    assert 6 in [each.base_offset for each in delete_old_segments(log, NOW)]


@pytest.mark.parametrize("nth", range(1, 8))
def test_what_finds_no_room_for_another_name_is_removed_at_once(nth: int) -> None:
    """A directory may have to grow for it. Nothing of it may be left behind."""
    log = filled(retention_ms=0)
    files = log.local.files
    assert isinstance(files, FakeFiles)
    files.fail("rename", nth=nth, error=errno.ENOSPC)
    gone = delete_old_segments(log, NOW + 1)
    assert [each.base_offset for each in gone] == [0, 2, 4, 6]
    for segment in gone:
        segment.delete_files()
    names = {path.name.split(".")[0] for path in files.paths()}
    assert not names & {f"{each.base_offset:020}" for each in gone}


def test_one_that_can_neither_be_renamed_nor_removed_stays_with_those_behind() -> None:
    log = filled(retention_ms=0)
    files = log.local.files
    assert isinstance(files, FakeFiles)
    files.fail("rename", nth=4, error=errno.ENOSPC)  # of the second segment
    files.fail("unlink", error=errno.ENOSPC)
    gone = delete_old_segments(log, NOW + 1)
    assert [each.base_offset for each in gone] == [0]
    assert segments_of(log)[0] == 2
    again = delete_old_segments(log, NOW + 1)
    assert [each.base_offset for each in again] == [2, 4, 6]


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
    ticket = log.syncing.begin()
    assert ticket
    files.fail("sync")
    with pytest.raises(StorageFailure) as raised:
        ticket.run()
    log.fail(raised.value)
    assert retain(log, NOW + 1) == 0


def counts(log: UnifiedLog, now_ms: int = NOW) -> dict[str, int]:
    gone = delete_breached_segments(log, now_ms)
    return {reason.name: len(segments) for reason, segments in gone.items()}


def test_t065_retention_order_start_size_time() -> None:
    size = filled().local.active.size
    options: dict[str, object] = {"retention_bytes": 5 * size, "retention_ms": 2500}
    log = filled(batches=9, spacing_ms=1000, **options)
    log.increment_log_start(5)  # two segments lie below
    # Of the seven that are left, five fit; of these, the newest two are young enough.
    assert counts(log) == {"LOG_START": 2, "SIZE": 2, "TIME": 3}
    assert segments_of(log) == [14, 16]
    assert counts(log) == {}


def test_t065_a_reason_that_comes_first_takes_what_others_would_take() -> None:
    log = filled(batches=6, spacing_ms=10_000, retention_bytes=0, retention_ms=1)
    log.increment_log_start(12)
    assert counts(log) == {"LOG_START": 6}
    log = filled(batches=6, spacing_ms=10_000, retention_bytes=0, retention_ms=1)
    assert counts(log) == {"SIZE": 6}
    log = filled(batches=6, spacing_ms=10_000, retention_ms=1)
    assert counts(log) == {"TIME": 6}


def test_t065_the_reason_and_the_count_are_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    log = filled(batches=4, spacing_ms=1000, retention_ms=2500)
    retain(log)
    (line,) = [each for each in caplog.messages if "deleted" in each]
    assert "2 segments deleted" in line
    assert RetentionReason.TIME.value in line
    assert "base offsets 0, 2;" in line


def test_a_log_of_exactly_the_limit_stays() -> None:
    size = filled().local.active.size
    log = filled(batches=4, retention_bytes=4 * size, retention_ms=-1)
    assert counts(log) == {}
    log = filled(batches=4, retention_bytes=4 * size - 1, retention_ms=-1)
    assert counts(log) == {}
    log = filled(batches=4, retention_bytes=3 * size, retention_ms=-1)
    assert counts(log) == {"SIZE": 1}


def test_an_empty_segment_is_not_beyond_a_size_that_is_unlimited() -> None:
    log = new_log(retention_ms=-1, retention_bytes=-1)
    log.roll(NOW, 10)
    log.roll(NOW, 20)
    log.replica_appender.append_as_follower(batch(20), NOW)
    sync(log)
    assert counts(log) == {}
    assert segments_of(log) == [0, 10, 20]


def test_a_segment_at_the_log_start_goes_and_one_around_it_stays() -> None:
    for start, left in ((2, [2, 4, 6]), (3, [2, 4, 6]), (4, [4, 6]), (7, [6])):
        log = filled(retention_ms=-1)
        log.increment_log_start(start)
        retain(log)
        assert (segments_of(log), log.log_start_offset) == (left, start)


def test_quarantined_ranges_of_deleted_segments_are_forgotten() -> None:
    log = filled(retention_ms=-1)
    for base in (0, 4):
        log.quarantine.add(QuarantineEntry(base, 0, 70, base, base + 1, "test"))
    log.increment_log_start(5)
    retain(log)
    assert [entry.segment_base for entry in log.quarantine] == [4]

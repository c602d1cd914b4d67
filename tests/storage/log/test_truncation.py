"""A log that is cut: what is left of it, and who is told."""

import pytest

from odradek.protocol.control_records import ControlType
from odradek.storage.files.files import DiskFull
from odradek.storage.formats.quarantine_entry import QuarantineEntry
from odradek.storage.log.retention import delete_old_segments
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.producers.snapshot import list_snapshots
from odradek.storage.values.log_read import FetchIsolation
from tests.storage.logs import (
    DIRECTORY,
    NOW,
    Producer,
    files_of,
    filled,
    marker,
    new_log,
    offsets,
    produce,
    producers,
    read_all,
    reopened,
    sync,
)

HOUR = 3_600_000


def bases(log: UnifiedLog) -> list[int]:
    return [segment.base_offset for segment in log.local.segments]


def test_t028_truncate_mid_batch_cuts_whole_batch() -> None:
    log = filled()  # batches of three records
    assert log.truncation.truncate_to(46, NOW)
    assert log.log_end_offset == 46
    assert offsets(log) == list(range(45))
    assert produce(log, 2).base_offset == 46
    assert [record.offset for record in read_all(log)][-3:] == [44, 46, 47]


def test_indexes_are_cut_and_grow_again() -> None:
    log = filled()
    last = log.local.segments.last
    log.truncation.truncate_to(last.base_offset + 6, NOW)
    entries = log.local.active.indexes
    assert entries.offsets.last.offset < log.log_end_offset
    assert entries.times.last.offset < log.log_end_offset
    for _ in range(30):
        produce(log, 3)
    assert [record.offset for record in read_all(log)] == list(
        range(log.log_end_offset)
    )
    assert offsets(reopened(log)) == offsets(log)


def test_a_segment_that_begins_there_stays_as_an_empty_one() -> None:
    log = filled()
    base = bases(log)[2]
    log.truncation.truncate_to(base, NOW)
    assert bases(log)[-1] == base == log.log_end_offset
    assert log.local.active.size == 0


def test_t029_truncate_to_zero_resets_created_time_and_roll_timer() -> None:
    log = new_log(segment_bytes=10_000, segment_ms=HOUR)
    produce(log, timestamp=NOW - 30 * HOUR)
    produce(log, timestamp=NOW - 30 * HOUR)
    log.truncation.truncate_to(0, NOW + HOUR)
    assert log.local.active.created_ms == NOW + HOUR
    # Its first timestamp is forgotten: a batch 30 hours later does not roll.
    assert not produce(log, timestamp=NOW).has_rolled


def test_at_or_above_the_end_only_the_epochs_are_cut() -> None:
    log = filled()
    log.assign_epoch(9)  # without any record
    end = log.log_end_offset
    for offset in (end, end + 5):
        assert not log.truncation.truncate_to(offset, NOW)
    assert log.log_end_offset == end
    assert log.latest_epoch == 4


def test_a_negative_offset_is_refused() -> None:
    log = filled()
    with pytest.raises(ValueError, match="-1"):
        log.truncation.truncate_to(-1, NOW)
    with pytest.raises(ValueError, match="-1"):
        log.truncation.truncate_fully_and_start_at(-1, NOW)
    assert not log.is_failed


def test_epochs_are_cut_with_the_records() -> None:
    log = new_log()
    for epoch in (1, 3, 5):
        produce(log, 5, leader_epoch=epoch)
    log.truncation.truncate_to(10, NOW)
    assert [tuple(entry) for entry in log.epochs.entries] == [(1, 0), (3, 5)]
    log.truncation.truncate_to(7, NOW)
    assert log.epoch_end_offset(3) == (3, 7)
    log.truncation.truncate_fully_and_start_at(100, NOW)
    assert not log.epochs.entries


def test_t055_hw_lowered_by_truncation_producer_and_lso_recomputed() -> None:
    log = new_log()
    produce(log, 3, producer=Producer(7, 0, 0), is_transactional=True)
    produce(log, 2, producer=Producer(8, 0, 0))
    marker(log, ControlType.ABORT)
    produce(log, 2, producer=Producer(8, 0, 2))
    sync(log)
    assert (log.high_watermark, log.last_stable_offset) == (8, 8)
    log.truncation.truncate_to(5, NOW)
    assert (log.high_watermark, log.recovery_point, log.log_end_offset) == (5, 5, 5)
    assert log.last_stable_offset == log.visibility.first_unstable_offset == 0
    assert producers(log) == {7: (0, 2, 2), 8: (0, 1, 4)}
    assert log.producers.map_end_offset == 5
    assert not list(log.local.active.transactions.entries())
    assert log.visibility.high_watermark_metadata == log.end_metadata
    marker(log, ControlType.COMMIT)
    sync(log)
    assert log.last_stable_offset == log.high_watermark == 6
    committed = log.read(0, 1000, FetchIsolation.TXN_COMMITTED)
    assert committed.aborted == []


def test_transactions_that_ended_below_the_high_watermark_hide_nothing() -> None:
    log = new_log()
    produce(log, 3, producer=Producer(7, 0, 0), is_transactional=True)
    marker(log, ControlType.COMMIT)
    for _ in range(2):
        produce(log, 2)
    sync(log)
    log.truncation.truncate_to(6, NOW)
    assert (log.visibility.first_unstable_offset, log.last_stable_offset) == (-1, 6)


def test_a_high_watermark_below_stays() -> None:
    log = new_log()
    produce(log, 3)
    sync(log)
    before = log.visibility.high_watermark_metadata
    produce(log, 3)
    log.truncation.truncate_to(5, NOW)
    assert log.visibility.high_watermark_metadata == before


def test_producers_are_as_they_were_there() -> None:
    log = filled(batches=30)
    before = {}
    again = new_log()
    for number in range(30):
        before[again.log_end_offset] = producers(again)
        produce(again, 3, producer=Producer(number % 2, 0, 3 * (number // 2)))
    for offset in reversed(before):
        log.truncation.truncate_to(offset, NOW)
        assert producers(log) == before[offset], offset


def test_snapshots_behind_it_go() -> None:
    log = filled()
    sync(log, with_snapshot=True)
    snapshots = list_snapshots(files_of(log), DIRECTORY)
    assert len(snapshots) > 2
    offset = bases(log)[2] + 1
    log.truncation.truncate_to(offset, NOW)
    left = list_snapshots(files_of(log), DIRECTORY)
    assert left == [each for each in snapshots if each <= offset] != []


def test_the_log_start_falls_along() -> None:
    log = filled()
    log.increment_log_start(50)
    log.truncation.truncate_to(48, NOW)
    assert (log.log_start_offset, log.log_end_offset) == (48, 48)


def test_below_the_first_segment_the_log_begins_anew() -> None:
    log = filled()
    log.increment_log_start(50)
    delete_old_segments(log, NOW)
    assert bases(log)[0] > 3
    assert log.truncation.truncate_to(3, NOW)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (3, 3, 3)
    assert bases(log) == [3]
    assert produce(log).base_offset == 3


def test_truncate_fully_and_start_at_forgets_everything() -> None:
    log = filled()
    log.truncation.truncate_fully_and_start_at(1000, NOW)
    assert bases(log) == [1000]
    assert (log.log_start_offset, log.recovery_point, log.high_watermark) == (1000,) * 3
    assert not len(log.producers)
    assert log.producers.map_end_offset == 1000
    assert not list_snapshots(files_of(log), DIRECTORY)
    log.truncation.truncate_fully_and_start_at(2000, NOW, log_start=500)
    assert (log.log_start_offset, log.log_end_offset) == (500, 2000)
    assert produce(log).base_offset == 2000


def test_files_wait_for_their_removal() -> None:
    log = filled()
    gone = [base for base in bases(log) if base > 40]
    data = log.read(60, 1000, FetchIsolation.LOG_END).records
    kept = bytes(data)
    log.truncation.truncate_to(40, NOW)
    names = files_of(log).listdir(DIRECTORY)
    assert {f"{base:020d}.log.deleted" for base in gone} <= set(names)
    removed = delete_old_segments(log, NOW)
    assert sorted(segment.base_offset for segment in removed) == gone
    assert log.truncation.take_removed_segments() == []
    for segment in removed:
        segment.delete_files()
    assert not [name for name in files_of(log).listdir(DIRECTORY) if "deleted" in name]
    assert data == kept


def test_the_quarantine_is_told() -> None:
    log = filled()
    segment = log.local.active
    size = log.read(segment.base_offset, 1, FetchIsolation.LOG_END).records
    entry = QuarantineEntry(
        segment.base_offset,
        0,
        len(size),
        segment.base_offset,
        segment.base_offset + 2,
        "test",
    )
    log.quarantine.add(entry)
    segment.reader.quarantined = log.quarantine.of_segment(segment.base_offset)
    log.truncation.truncate_to(segment.base_offset, NOW)
    assert (len(log.damage), list(log.local.active.reader.quarantined)) == (0, [])
    log.quarantine.add(entry)
    log.truncation.truncate_fully_and_start_at(0, NOW)
    assert len(log.damage) == 0


@pytest.mark.parametrize("cut", [46, 0])
def test_without_room_for_the_checkpoints_nothing_is_cut(cut: int) -> None:
    log = filled()
    sync(log)
    before = log.log_end_offset, log.high_watermark, log.log_start_offset
    recovery_point = log.recovery_point
    is_full = True

    def checkpoint() -> None:
        if is_full:
            raise DiskFull("no room")

    def act() -> None:
        if cut:
            log.truncation.truncate_to(cut, NOW, checkpoint)
        else:
            log.truncation.truncate_fully_and_start_at(0, NOW, checkpoint=checkpoint)

    with pytest.raises(DiskFull):
        act()
    assert (log.log_end_offset, log.high_watermark, log.log_start_offset) == before
    assert log.recovery_point == recovery_point
    is_full = False
    act()
    assert log.log_end_offset == cut


def test_checkpoints_are_written_before_any_file_changes() -> None:
    for offset in (0, 46, 60):
        log = filled()
        log.increment_log_start(6)
        seen = truncate_watched(log, offset)
        assert seen == [(offset, min(6, offset))]


def truncate_watched(log: UnifiedLog, offset: int) -> list[tuple[int, int]]:
    """Recovery point and log start when the checkpoint was to be written."""
    names, seen = files_of(log).listdir(DIRECTORY), []

    def checkpoint() -> None:
        assert files_of(log).listdir(DIRECTORY) == names
        seen.append((log.recovery_point, log.log_start_offset))

    log.truncation.truncate_to(offset, NOW, checkpoint)
    return seen

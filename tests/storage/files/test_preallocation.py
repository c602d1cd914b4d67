"""Files that are written ahead of their logs, from the first append to after a kill."""

import pytest

from odradek.storage.files.preallocation import STEP_MAX, STEP_MIN, zeros_behind
from odradek.storage.local.quarantine import QUARANTINE_NAME
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.segment.log_segment import LogSegment
from tests.storage.logs import (
    DIRECTORY,
    NOW,
    files_of,
    new_log,
    offsets,
    produce,
    reopened,
    sync,
)

SEGMENT_BYTES = 1000
LARGE = 1 << 20


def preallocated(**options: object) -> UnifiedLog:
    return new_log(preallocate=True, segment_bytes=SEGMENT_BYTES, **options)


def content(log: UnifiedLog, segment: LogSegment | None = None) -> bytes:
    return files_of(log).content((segment or log.local.active).log.path)


def zeros_of(log: UnifiedLog, segment: LogSegment | None = None) -> int:
    """How many zeros are behind the log in a file; there is nothing else."""
    segment = segment or log.local.active
    behind = content(log, segment)[segment.size :]
    assert not behind.strip(b"\0")
    return len(behind)


def put_zeros(log: UnifiedLog, segment: LogSegment, count: int) -> None:
    files_of(log).extend(segment.log.path, bytes(count))


# How many


def test_as_much_again_as_there_is_within_bounds() -> None:
    assert len(zeros_behind(0, 100, LARGE)) == STEP_MIN
    assert len(zeros_behind(STEP_MIN + 5, 100, LARGE)) == STEP_MIN + 5
    assert len(zeros_behind(LARGE, 100, 2 * LARGE)) == STEP_MAX
    assert not bytes(zeros_behind(LARGE, 100, 2 * LARGE)).strip(b"\0")


def test_a_segment_is_not_made_longer_than_it_may_be() -> None:
    assert len(zeros_behind(800, 100, 1000)) == 100
    assert len(zeros_behind(800, 200, 1000)) == 0
    assert len(zeros_behind(800, 900, 1000)) == 0


def test_large_batches_are_not_written_twice() -> None:
    assert len(zeros_behind(LARGE, STEP_MAX, 2 * LARGE)) == 0
    assert len(zeros_behind(LARGE, STEP_MAX // 64, 2 * LARGE)) == STEP_MAX


# A log that is written to


def test_the_end_of_the_log_is_not_the_end_of_the_file() -> None:
    log = preallocated()
    produce(log, 3)
    size = log.size
    assert zeros_of(log) == SEGMENT_BYTES - size
    assert log.end_metadata.position == size
    produce(log, 2)
    assert len(content(log)) == SEGMENT_BYTES
    assert offsets(log) == list(range(5))


def test_without_the_option_nothing_is_written_ahead() -> None:
    log = new_log(segment_bytes=SEGMENT_BYTES)
    produce(log, 3)
    assert zeros_of(log) == 0


def test_a_full_segment_is_cut_to_its_log() -> None:
    log = preallocated()
    while len(log.local.segments) < 3:
        produce(log, 3)
    first, second, active = log.local.segments
    assert zeros_of(log, first) == zeros_of(log, second) == 0
    assert zeros_of(log, active) > 0
    sync(log)
    files_of(log).power_cut()
    assert zeros_of(log, first) == zeros_of(log, second) == 0


def test_a_clean_stop_leaves_no_zeros(caplog: pytest.LogCaptureFixture) -> None:
    log = preallocated()
    produce(log, 3)
    assert log.close()
    files_of(log).power_cut()
    assert zeros_of(log) == 0
    again = reopened(log, was_clean=True, recovery_point=3)
    assert offsets(again) == [0, 1, 2]
    assert not caplog.records
    produce(again, 1)
    assert zeros_of(again) > 0


def test_the_option_may_change_at_any_time() -> None:
    log = new_log(segment_bytes=SEGMENT_BYTES)
    produce(log, 3)
    on = preallocated().config
    off = log.config
    log.update_config(on)
    assert zeros_of(log) == 0
    produce(log, 3)
    assert len(content(log)) == SEGMENT_BYTES
    log.update_config(off)
    produce(log, 3)
    assert len(content(log)) == SEGMENT_BYTES  # what there is, is still used
    log.roll(NOW)
    assert [zeros_of(log, each) for each in log.local.segments] == [0, 0]
    produce(log, 3)
    assert zeros_of(log) == 0


def test_a_log_that_is_cut_is_written_ahead_again() -> None:
    log = preallocated()
    for _ in range(6):
        produce(log, 3)
    sync(log)
    log.truncation.truncate_to(3, NOW)
    assert zeros_of(log) == 0
    produce(log, 1)
    assert len(content(log)) == SEGMENT_BYTES
    log.truncation.truncate_fully_and_start_at(50, NOW)
    produce(log, 1)
    assert len(content(log)) == SEGMENT_BYTES
    assert offsets(log) == [50]


def test_where_there_is_no_room_for_zeros_there_is_for_records() -> None:
    log = preallocated()
    files_of(log).fail("write_ahead", error=28)
    produce(log, 3)
    produce(log, 3)
    assert files_of(log).failed
    assert zeros_of(log) == 0
    assert offsets(log) == list(range(6))
    log.roll(NOW)
    produce(log, 3)
    assert zeros_of(log) > 0


# After a kill


@pytest.mark.parametrize("recovery_point", [39, 36, 20, 0])
def test_t070_zeros_behind_the_log_are_cut_without_a_word(
    recovery_point: int, caplog: pytest.LogCaptureFixture
) -> None:
    log = preallocated()
    for _ in range(13):
        produce(log, 3)
    assert zeros_of(log) > 0
    again = reopened(log, recovery_point=recovery_point)
    assert offsets(again) == list(range(39))
    assert zeros_of(again) == 0
    assert not list(again.quarantine)
    assert not files_of(log).exists(DIRECTORY / QUARANTINE_NAME)
    assert not caplog.records
    assert produce(again, 3).base_offset == 39
    assert zeros_of(again) > 0


def test_a_segment_of_nothing_but_zeros_is_empty() -> None:
    log = preallocated()
    put_zeros(log, log.local.active, SEGMENT_BYTES)
    again = reopened(log)
    assert again.log_end_offset == 0
    assert again.size == 0
    assert produce(again).base_offset == 0


def test_a_torn_batch_before_the_zeros_is_cut_with_them() -> None:
    log = preallocated()
    produce(log, 3)
    sync(log)
    produce(log, 3)
    size = log.size
    files_of(log).flip(log.local.active.log.path, size - 1)
    again = reopened(log, recovery_point=3)
    assert offsets(again) == [0, 1, 2]
    assert not list(again.quarantine)


def test_damage_of_what_was_durable_is_seen_before_zeros() -> None:
    log = preallocated()
    produce(log, 3)
    sync(log)
    produce(log, 3)
    sync(log)
    assert zeros_of(log) > 0
    files_of(log).flip(log.local.active.log.path, log.size - 1)
    again = reopened(log, recovery_point=6)
    (damage,) = again.quarantine
    assert (damage.base_offset, damage.last_offset) == (3, 5)
    assert again.log_end_offset == 6
    assert produce(again).base_offset == 6


def test_zeros_in_place_of_what_was_durable_are_damage() -> None:
    log = preallocated()
    produce(log, 3)
    sync(log)
    size = log.size
    produce(log, 3)
    path = log.local.active.log.path
    files_of(log).cut(path, by=SEGMENT_BYTES - size)
    files_of(log).extend(path, bytes(SEGMENT_BYTES - size))
    again = reopened(log, recovery_point=6)
    (damage,) = again.quarantine
    assert (damage.base_offset, damage.last_offset) == (3, 5)


def test_zeros_between_batches_are_damage() -> None:
    log = preallocated()
    produce(log, 3)
    before = log.size
    produce(log, 3)
    behind = log.size
    produce(log, 3)
    data = bytearray(content(log))
    data[before:behind] = bytes(behind - before)
    files_of(log).put(log.local.active.log.path, bytes(data))
    again = reopened(log)
    (damage,) = again.quarantine
    assert (damage.base_offset, damage.last_offset) == (3, 5)
    assert offsets(again) == [0, 1, 2, 6, 7, 8]


def test_a_sealed_segment_whose_cut_was_lost_is_cut_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The recovery point is where the next one begins: all of it is durable."""
    log = preallocated()
    while len(log.local.segments) < 2:
        produce(log, 3)
    sealed, active = log.local.segments
    whole = content(log, sealed)
    put_zeros(log, sealed, 200)
    again = reopened(log, recovery_point=active.base_offset)
    assert again.local.segments.first.size == len(whole)
    assert content(again, sealed) == whole
    assert offsets(again) == list(range(again.log_end_offset))
    assert not list(again.quarantine)
    assert not caplog.records


def test_that_a_sealed_segment_was_cut_is_durable_after_a_recovery() -> None:
    """A kill leaves the cut in the kernel's memory; the power goes after the start."""
    log = preallocated()
    produce(log, 3)
    sync(log)
    log.roll(NOW)
    produce(log, 3)
    files_of(log).sync_directory(DIRECTORY)
    sealed = log.local.segments.first
    again = reopened(log, recovery_point=3)
    files_of(again).power_cut()
    assert len(content(again, sealed)) == sealed.size


def test_damage_at_the_end_of_a_sealed_segment_is_no_lost_cut() -> None:
    log = preallocated()
    while len(log.local.segments) < 2:
        produce(log, 3)
    sealed, active = log.local.segments
    found = sealed.reader.find(active.base_offset - 1)
    assert found
    files = files_of(log)
    files.cut(sealed.log.path, by=found[1])
    files.extend(sealed.log.path, bytes(found[1]))
    again = reopened(log, recovery_point=active.base_offset)
    assert len(content(again, sealed)) == sealed.size
    missing = range(active.base_offset - 3, active.base_offset)
    assert offsets(again) == [
        offset for offset in range(again.log_end_offset) if offset not in missing
    ]
    assert [each.base_offset for each in again.quarantine] == [missing.start]

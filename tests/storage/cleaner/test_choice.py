"""Which part of a log may be cleaned, and when it is worth it."""

from dataclasses import replace

from odradek.storage.cleaner.choice import (
    Cleanable,
    find_cleanable,
    first_dirty_offset,
    plan_round,
)
from odradek.storage.cleaner.producer_ends import ProducerEnd, unpack_ends
from odradek.storage.local.watermarks import LogStartReason
from odradek.storage.log.unified_log import UnifiedLog
from tests.storage.cleaner.cleaning import MAP_SIZE, compacted_log, end, put, write
from tests.storage.logs import NOW


def log_of(text: str, **options: object) -> UnifiedLog:
    log = compacted_log(**options)
    write(log, text)
    return log


def test_t121_cleaner_checkpoint_reset_when_outside_log() -> None:
    log = log_of("a1 | b1 | z1")
    assert first_dirty_offset(log, None) == 0
    assert first_dirty_offset(log, 2) == 2
    assert first_dirty_offset(log, 3) == 3
    assert first_dirty_offset(log, 4) == 0
    log.increment_log_start(1, LogStartReason.CLIENT_RECORD_DELETION)
    assert first_dirty_offset(log, 0) == 1


def test_sizes_are_those_before_and_behind_the_first_dirty_offset() -> None:
    log = log_of("a1 | b1 c1 | z1")
    sizes = [segment.size for segment in log.local.segments]
    assert find_cleanable(log, 1, NOW) == (1, 3, sizes[0], sizes[1], False)
    found = find_cleanable(log, 0, NOW)
    assert (found.clean_size, found.dirty_size) == (0, sizes[0] + sizes[1])
    found = find_cleanable(log, 3, NOW)
    assert (found.end_offset, found.dirty_size, found.dirty_ratio) == (3, 0, 0.0)


def test_a_log_that_begins_inside_a_segment_is_cleaned_no_further_for_that() -> None:
    """The first dirty offset, moved to the log start, lies where nothing may go."""
    log = log_of("a1 b1 a2 | z1")
    put(log, (b"a", b"3"), producer_id=1, producer_epoch=0, is_transactional=True)
    write(log, "b2 | y1")
    log.increment_log_start(4, LogStartReason.CLIENT_RECORD_DELETION)
    found = find_cleanable(log, first_dirty_offset(log, None), NOW)
    assert (found.end_offset, found.dirty_size) == (3, 0)
    plan = plan_round(log, found, NOW, MAP_SIZE)
    assert [each.base_offset for each in plan.segments] == [0]
    log.increment_log_start(log.log_end_offset, LogStartReason.CLIENT_RECORD_DELETION)
    found = find_cleanable(log, first_dirty_offset(log, None), NOW)
    assert not found.dirty_size, "the active segment"


def test_a_ratio_must_be_exceeded() -> None:
    half = Cleanable(0, 9, 100, 100, is_overdue=False)
    assert not half.is_due(0.5)
    assert half.is_due(0.49)
    assert half._replace(is_overdue=True).is_due(0.9)
    assert not Cleanable(0, 9, 100, 0, is_overdue=True).is_due(0.0)


def test_t116_min_lag_blocks() -> None:
    log = compacted_log(min_compaction_lag_ms=1000)
    put(log, (b"a", b"1"), timestamp=NOW - 2000)
    log.roll(NOW)
    put(log, (b"b", b"1"), timestamp=NOW - 1000)
    log.roll(NOW)
    put(log, (b"c", b"1"), timestamp=NOW - 5000)
    write(log, "| z1")
    assert find_cleanable(log, 0, NOW - 1).end_offset == 1
    assert find_cleanable(log, 0, NOW).end_offset == 3
    assert find_cleanable(log, 0, NOW - 2500).end_offset == 0


def test_t116_max_lag_forces_below_the_ratio() -> None:
    log = compacted_log()
    put(log, (b"a", b"1"), timestamp=NOW - 1000)
    write(log, "| z1")
    log.update_config(replace(log.config, max_compaction_lag_ms=1000))
    assert not find_cleanable(log, 0, NOW).is_overdue
    assert find_cleanable(log, 0, NOW + 1).is_overdue
    assert not find_cleanable(log, 1, NOW + 1).is_overdue, "nothing of it is dirty"


def test_a_plan_says_all_that_a_round_needs() -> None:
    log = log_of("a1 | ")
    put(log, (b"a", b"2"), producer_id=7, producer_epoch=2, base_sequence=0)
    end(log, 8, commits=True, epoch=5)
    write(log, "| z1")
    cleanable = find_cleanable(log, 0, NOW)
    plan = plan_round(log, cleanable, NOW, MAP_SIZE)
    assert [each.base_offset for each in plan.segments] == [0, 1]
    assert [each.end_offset for each in plan.segments] == [1, 3]
    assert plan.base_offsets == (0, 1, 3)
    assert unpack_ends(plan.producers) == {7: ProducerEnd(1, 2), 8: ProducerEnd(-1, 5)}
    assert (plan.end_offset, plan.map_size) == (3, MAP_SIZE)

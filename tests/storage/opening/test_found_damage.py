"""Torn tails are cut, damage inside is kept, and what is gone is a hole."""

import errno

import pytest

from odradek.storage.log.unified_log import UnifiedLog
from tests.storage.logs import (
    DIRECTORY,
    NOW,
    closed,
    files_of,
    filled,
    new_log,
    offsets,
    produce,
    reopened,
    sync,
)


def in_quarantine(log: UnifiedLog) -> list[tuple[int, int, int]]:
    """Offsets and size of each range."""
    return [
        (each.base_offset, each.last_offset, each.end - each.start)
        for each in log.quarantine
    ]


def flip_batch(log: UnifiedLog, offset: int) -> int:
    """Damage the records of a batch; returns its size."""
    segment = log.local.segments.floor(offset)
    assert segment is not None
    found = segment.reader.find(offset)
    assert found is not None
    files_of(log).flip(segment.log.path, found[0] + 80)
    return found[1]


@pytest.mark.parametrize("recovery_point", [0, 45, 90])
def test_t069_corrupt_middle_segment_is_quarantined_and_nothing_later_dropped(
    recovery_point: int,
) -> None:
    log = filled()
    size = flip_batch(log, 45)
    again = reopened(log, recovery_point=recovery_point)
    rest = [offset for offset in range(90) if not 45 <= offset < 48]
    assert offsets(again) == rest  # with the last, it is found by the reader
    assert in_quarantine(again) == [(45, 47, size)]
    assert again.log_end_offset == 90
    assert again.recovery_point == 90
    assert list(reopened(again, recovery_point=0).quarantine) == list(again.quarantine)


def test_t069_the_end_of_an_old_segment_is_quarantined_too() -> None:
    log = filled()
    base = log.local.active.base_offset
    size = flip_batch(log, base - 1)
    again = reopened(log)
    assert in_quarantine(again) == [(base - 3, base - 1, size)]
    assert offsets(again) == [n for n in range(90) if not base - 3 <= n < base]


@pytest.mark.parametrize("zeros", [1, 17, 61, 5000])
@pytest.mark.parametrize("was_clean", [True, False])
def test_t070_zero_filled_preallocated_tail_is_truncated(
    zeros: int, was_clean: bool
) -> None:
    log = filled()
    if was_clean:
        closed(log)
    path, size = log.local.active.log.path, log.local.active.size
    files_of(log).extend(path, bytes(zeros))
    again = reopened(log, was_clean=was_clean, recovery_point=90)
    assert (files_of(log).size(path), again.log_end_offset) == (size, 90)
    assert not len(again.damage)
    produce(again, 3)
    assert offsets(again) == list(range(93))


def test_t074_leo_below_start_checkpoint_starts_there_and_deletes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = filled()
    logs = {path for path in files_of(log).paths() if path.suffix == ".log"}
    again = reopened(log, recovery_point=90, log_start_offset=200)
    assert again.log_start_offset == again.log_end_offset == 200
    assert logs < {path for path in files_of(log).paths() if path.suffix == ".log"}
    assert "ends at 90 and was durable up to 200" in caplog.text
    assert produce(again).base_offset == 200


@pytest.mark.parametrize("was_clean", [True, False])
def test_a_damaged_last_batch_below_the_recovery_point_stays(was_clean: bool) -> None:
    log = closed(filled())
    size = flip_batch(log, 87)
    before = files_of(log).size(log.local.active.log.path)
    again = reopened(log, was_clean=was_clean, recovery_point=90)
    assert in_quarantine(again) == [(87, 89, size)]
    assert files_of(log).size(log.local.active.log.path) == before
    assert offsets(again) == list(range(87))
    assert produce(again).base_offset == 90
    assert offsets(again) == [*range(87), 90]


@pytest.mark.parametrize("interval", [50, 200, 100_000])
def test_a_last_offset_above_that_of_a_closed_log_is_put_right(interval: int) -> None:
    log = closed(filled(index_interval_bytes=interval))
    active = log.local.active
    found = active.reader.find(87)
    assert found
    whole = files_of(log).content(active.log.path)
    files_of(log).flip(active.log.path, found[0] + 4)
    again = reopened(log, was_clean=True, recovery_point=90)
    assert not in_quarantine(again)
    assert (offsets(again), again.log_end_offset) == (list(range(90)), 90)
    assert files_of(log).content(active.log.path) == whole
    files_of(log).power_cut()  # the offset is durable
    assert files_of(log).content(active.log.path) == whole


def test_an_offset_that_cannot_be_written_is_passed_over() -> None:
    log = closed(filled())
    active = log.local.active
    found = active.reader.find(87)
    assert found
    files_of(log).flip(active.log.path, found[0] + 4)
    files_of(log).fail("overwrite", error=errno.ENOSPC)
    again = reopened(log, was_clean=True, recovery_point=90)
    assert in_quarantine(again) == [(87, 89, found[1])]
    assert offsets(again) == list(range(87))


def test_a_recovery_point_that_is_too_low_takes_nothing_away() -> None:
    log = closed(filled())
    for recovery_point in (1, 84, 86, 87, 89):
        again = reopened(log, was_clean=True, recovery_point=recovery_point)
        assert offsets(again) == list(range(90))
        assert not len(again.damage)


@pytest.mark.parametrize("recovery_point", [0, 87])
def test_above_the_recovery_point_it_is_a_torn_tail(recovery_point: int) -> None:
    log = filled()
    flip_batch(log, 87)
    again = reopened(log, recovery_point=recovery_point)
    assert not in_quarantine(again)
    assert again.log_end_offset == 87
    assert produce(again).base_offset == 87


def test_a_removed_segment_is_a_hole_as_long_as_its_neighbours_are() -> None:
    log = closed(filled())
    second = list(log.local.segments)[1]
    end = list(log.local.segments)[2].base_offset
    files_of(log).unlink(second.log.path)
    again = reopened(log, was_clean=True, recovery_point=90)
    hole = [(second.base_offset, end - 1, 0)]
    assert in_quarantine(again) == hole
    for recovery_point in (0, 90):
        once_more = reopened(again, recovery_point=recovery_point)
        assert in_quarantine(once_more) == hole
        assert not set(offsets(once_more)) & set(range(second.base_offset, end))


def test_gaps_that_compaction_left_are_no_holes() -> None:
    for policy, count in (("compact", 0), ("delete", 1)):
        log = new_log(cleanup_policy=frozenset({policy}))
        produce(log, 3, value=b"v")
        log.roll(1000, expected_next_offset=10)
        log.local.end = log.local.end._replace(offset=10)
        produce(log, 3)
        sync(log)
        assert len(reopened(log).damage) == count


def test_the_first_segment_missing_raises_the_log_start() -> None:
    log = closed(filled())
    first, second = list(log.local.segments)[:2]
    files_of(log).unlink(first.log.path)
    again = reopened(log, was_clean=True, recovery_point=90)
    assert again.log_start_offset == second.base_offset
    assert not in_quarantine(again)


def test_strange_files_are_left_alone() -> None:
    log = closed(filled())
    names = ["foo.log", "12.index", "x.cleaned", "notes.swap", "1.txnindex"]
    for name in names:
        files_of(log).put(DIRECTORY / name, b"mine")
    again = reopened(log, was_clean=True, recovery_point=90)
    assert offsets(again) == list(range(90))
    for name in names:
        assert files_of(log).content(DIRECTORY / name) == b"mine"


def test_what_damage_spans_is_not_taken_from_offsets_beyond_it() -> None:
    """The last segment has four batches; the first two say 32 and 64 too much."""
    log = new_log(segment_bytes=500, index_interval_bytes=180)
    for number in range(12):
        produce(log, 3, timestamp=NOW + number)
    sync(log)
    segment = closed(log).local.active
    assert (segment.base_offset, segment.size) == (24, 412)
    for place, bit in ((7, 5), (103 + 7, 6), (2 * 103 + 11, 0)):
        files_of(log).flip(segment.log.path, place, bit)
    again = reopened(log, was_clean=True, recovery_point=36)
    assert in_quarantine(again) == [(30, 32, 103)]

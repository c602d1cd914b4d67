"""A log is opened as it was left; after a kill or a power cut, with all it had."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.storage.files.files import StorageFailure
from odradek.storage.log.unified_log import UnifiedLog
from tests.storage.logs import (
    DIRECTORY,
    NOW,
    Producer,
    closed,
    files_of,
    filled,
    new_log,
    offsets,
    produce,
    producers,
    read_all,
    reopened,
    sync,
)

# After a clean stop


def test_a_closed_log_is_as_it_was() -> None:
    log = closed(filled())
    again = reopened(log, was_clean=True, recovery_point=90)
    assert offsets(again) == list(range(90))
    assert again.recovery_point == again.high_watermark == again.log_end_offset == 90
    assert producers(again) == producers(log)
    assert again.latest_epoch == log.latest_epoch
    assert again.syncing.begin() is None


def test_t066_clean_shutdown_scans_nothing() -> None:
    log = closed(filled(batches=300, index_interval_bytes=300))
    files = files_of(log)
    assert len(log.local.segments) > 20
    files.counts.clear()
    reopened(log, was_clean=True, recovery_point=900)
    assert files.counts["read"] <= 6
    assert not files.counts["sync"] + files.counts["append"] + files.counts["rewrite"]


def test_it_goes_on_where_it_ended() -> None:
    again = reopened(closed(filled()), was_clean=True, recovery_point=90)
    assert produce(again, 3, producer=Producer(0, 0, 45)).base_offset == 90
    retry = produce(again, 3, producer=Producer(1, 0, 42))
    assert (retry.is_duplicate, retry.base_offset) == (True, 87)
    assert offsets(again) == list(range(93))


@pytest.mark.parametrize("tail", [bytes(1000), b"\xff" * 96, b"\x00" * 17])
def test_a_tail_behind_the_last_batch_is_cut(tail: bytes) -> None:
    log = closed(filled())
    path = log.local.active.log.path
    files_of(log).extend(path, tail)
    again = reopened(log, was_clean=True, recovery_point=90)
    assert again.log_end_offset == 90
    produce(again, 3)
    assert offsets(again) == list(range(93))


def test_a_half_batch_is_cut_and_its_offsets_are_not_used_again() -> None:
    log = closed(filled())
    files_of(log).cut(log.local.active.log.path, by=50)
    again = reopened(log, was_clean=True, recovery_point=90)
    assert again.log_end_offset == 90
    assert produce(again, 3).base_offset == 90
    sync(again)
    files_of(log).power_cut()
    for recovery_point in (0, 90):
        third = reopened(again, recovery_point=recovery_point)
        assert offsets(third) == [*range(87), *range(90, 93)]


def test_the_end_is_kept_in_the_name_of_a_segment() -> None:
    log = closed(filled())
    files_of(log).cut(log.local.active.log.path, by=50)
    reopened(log, was_clean=True, recovery_point=90)
    files_of(log).power_cut()
    assert reopened(log).log_end_offset == 90


def test_missing_indexes_are_made_again() -> None:
    log = closed(filled(index_interval_bytes=100))
    files = files_of(log)
    before = {path: files.content(path) for path in files.paths()}
    for path in files.paths():
        if path.suffix in (".index", ".timeindex"):
            files.unlink(path)
    again = reopened(log, was_clean=True, recovery_point=90)
    for offset in range(90):
        assert len(again.read(offset, 100).records)
    again.close()
    for path, content in before.items():
        if path.suffix == ".index":
            assert files.content(path) == content


def test_t050_the_log_start_is_the_checkpointed_one() -> None:
    log = closed(filled())
    assert reopened(log, was_clean=True, log_start_offset=50).log_start_offset == 50
    beyond = reopened(log, was_clean=True, log_start_offset=500)
    assert beyond.log_start_offset == beyond.log_end_offset == 500
    assert beyond.high_watermark == 500
    assert produce(beyond).base_offset == 500


# After a kill or a power cut


def test_a_kill_loses_nothing() -> None:
    log = filled()
    produce(log, 5)
    again = reopened(log, recovery_point=90)
    assert offsets(again) == list(range(95))
    assert again.recovery_point == again.high_watermark == 95
    assert producers(again) == producers(log)


def test_a_power_cut_loses_only_what_was_not_synced() -> None:
    log = filled()
    produce(log, 5)
    files_of(log).power_cut()
    again = reopened(log, recovery_point=90)
    assert offsets(again) == list(range(90))
    assert producers(again) == producers(log)
    assert again.latest_epoch == log.latest_epoch


def test_after_loading_a_power_cut_loses_nothing() -> None:
    log = filled()
    produce(log, 5)
    reopened(log, recovery_point=90)
    files_of(log).power_cut()
    assert offsets(reopened(log, recovery_point=95)) == list(range(95))


@settings(max_examples=150)
@given(st.lists(st.sampled_from("ppppsSr"), max_size=40), st.booleans())
def test_nothing_below_the_recovery_point_is_ever_lost(
    steps: list[str], is_checkpointed: bool
) -> None:
    log = new_log(segment_bytes=500)
    for step in steps:
        if step == "p":
            produce(log, 2, value=bytes(50))
        elif step == "r":
            log.roll(NOW)
        else:
            sync(log, with_snapshot=step == "S")
    durable = log.recovery_point
    files_of(log).power_cut()
    if not files_of(log).exists(DIRECTORY):
        assert durable == 0
        return
    again = reopened(log, recovery_point=durable if is_checkpointed else 0)
    found = offsets(again)
    assert found[:durable] == list(range(durable))
    assert again.log_end_offset >= durable
    assert again.log_end_offset == len(found)


def test_a_torn_tail_is_cut_at_every_byte_of_the_last_batch() -> None:
    log = filled(batches=10)
    start = log.local.active.size
    produce(log, 3)
    path, size = log.local.active.log.path, log.local.active.size
    files = files_of(log)
    whole = files.content(path)
    for kept in range(start, size):
        files.put(path, whole[:kept])
        again = reopened(log, recovery_point=30)
        assert again.log_end_offset == 30
        assert files.size(path) == start
        assert offsets(again) == list(range(30))
    files.put(path, whole)
    assert offsets(reopened(log, recovery_point=30)) == list(range(33))


@pytest.mark.parametrize("recovery_point", [0, 30, 45])
def test_damage_inside_costs_one_batch(recovery_point: int) -> None:
    log = filled()
    segment = log.local.segments.floor(45)
    found = segment and segment.reader.find(45)
    assert segment
    assert found
    before = files_of(log).content(segment.log.path)
    files_of(log).flip(segment.log.path, found[0] + 80)
    again = reopened(log, recovery_point=recovery_point)
    assert again.log_end_offset == 90
    assert len(files_of(log).content(segment.log.path)) == len(before)
    after = again.read(48, 1000).records
    assert len(after)
    assert produce(again).base_offset == 90


def test_below_the_recovery_point_the_end_is_kept_and_passed_over() -> None:
    log = filled()
    active = log.local.active
    found = active.reader.find(87)
    assert found
    files_of(log).flip(active.log.path, found[0] + 80)
    size = active.size
    again = reopened(log, recovery_point=90)
    assert again.log_end_offset == 90
    assert files_of(log).size(active.log.path) == size
    assert produce(again).base_offset == 90
    assert [record.offset for record in read_all_from(again, 90)] == [90]


def read_all_from(log: UnifiedLog, offset: int) -> list[object]:
    log.visibility.raise_to(log.log_end_offset)
    log.increment_log_start(offset)
    return [*read_all(log)]


def test_above_the_recovery_point_the_pages_are_written_again() -> None:
    log = filled(batches=10)
    produce(log, 3)
    files = files_of(log)
    files.counts.clear()
    reopened(log, recovery_point=30)
    assert files.counts["rewrite"] == 1
    assert files.counts["sync"] >= 1
    files.counts.clear()
    closed(log)
    files.counts.clear()
    reopened(log, was_clean=True, recovery_point=33)
    assert not files.counts["rewrite"]


def test_recovering_twice_changes_nothing() -> None:
    log = filled(index_interval_bytes=100)
    produce(log, 3)
    files = files_of(log)
    files.extend(log.local.active.log.path, b"torn")
    reopened(log, recovery_point=40)
    once = {path: files.content(path) for path in files.paths()}
    again = reopened(log, recovery_point=40)
    assert {path: files.content(path) for path in files.paths()} == once
    assert offsets(again) == list(range(93))


def test_a_disk_that_fails_while_loading_says_so() -> None:
    log = filled()
    files_of(log).fail("sync")
    with pytest.raises(StorageFailure):
        reopened(log)


def test_producers_are_remembered_for_a_day() -> None:
    log = closed(filled())
    for hours, is_there in ((23, True), (25, False)):
        again = reopened(
            log, was_clean=True, recovery_point=90, now_ms=NOW + 3_600_000 * hours
        )
        assert bool(producers(again)) == is_there, hours

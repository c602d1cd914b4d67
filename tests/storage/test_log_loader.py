"""A log is opened as it was left; after a kill or a power cut, with all it had."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.control_records import ControlType, EndTxnMarker, build_marker_batch
from storage.append_info import AppendOrigin
from storage.files import StorageFailure
from storage.unified_log import UnifiedLog
from tests.fakes.files import FakeFiles

from .logs import (
    DIRECTORY,
    NOW,
    Producer,
    append,
    new_log,
    offsets,
    produce,
    read_all,
    reopened,
    sync,
)


def files_of(log: UnifiedLog) -> FakeFiles:
    files = log.local.files
    assert isinstance(files, FakeFiles)
    return files


def filled(batches: int = 30, **options: object) -> UnifiedLog:
    """Some segments of batches of three records, by two producers, durable."""
    log = new_log(**options)
    for number in range(batches):
        produce(log, 3, producer=Producer(number % 2, 0, 3 * (number // 2)))
    sync(log)
    return log


def producers(log: UnifiedLog) -> dict[int, tuple[int, int, int]]:
    return {
        each.producer_id: (each.producer_epoch, each.last_sequence, each.last_offset)
        for each in log.producers
    }


def closed(log: UnifiedLog) -> UnifiedLog:
    assert log.close()
    return log


# After a clean stop


def test_a_closed_log_is_as_it_was() -> None:
    log = closed(filled())
    again = reopened(log, was_clean=True, recovery_point=90)
    assert offsets(again) == list(range(90))
    assert again.recovery_point == again.high_watermark == again.log_end_offset == 90
    assert producers(again) == producers(log)
    assert again.latest_epoch == log.latest_epoch
    assert again.begin_sync() is None


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


def test_t093_a_snapshot_keeps_only_the_last_batch() -> None:
    again = reopened(closed(filled()), was_clean=True, recovery_point=90)
    with pytest.raises(Exception, match="expected 45"):
        produce(again, 3, producer=Producer(1, 0, 39))


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
    assert offsets(again) == [*range(87), *range(90, 93)]
    for recovery_point in (0, 90):
        third = reopened(again, recovery_point=recovery_point)
        assert offsets(third) == [*range(87), *range(90, 93)]


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


def test_without_snapshots_a_clean_log_has_no_producers() -> None:
    log = closed(filled())
    files = files_of(log)
    for path in files.paths():
        if path.suffix == ".snapshot":
            files.unlink(path)
    assert not producers(reopened(log, was_clean=True, recovery_point=90))


def test_an_older_snapshot_is_followed_up() -> None:
    log = closed(filled())
    files_of(log).unlink(DIRECTORY / f"{90:020d}.snapshot")
    again = reopened(log, was_clean=True, recovery_point=90)
    assert producers(again) == producers(log)


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


@settings(max_examples=150, deadline=None)
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
    found = segment and segment.find(45)
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
    found = active.find(87)
    assert found
    files_of(log).flip(active.log.path, found[0] + 80)
    size = active.size
    again = reopened(log, recovery_point=90)
    assert again.log_end_offset == 90
    assert files_of(log).size(active.log.path) == size
    assert produce(again).base_offset == 90
    assert [record.offset for record in read_all_from(again, 90)] == [90]


def read_all_from(log: UnifiedLog, offset: int) -> list[object]:
    log.update_high_watermark(log.log_end_offset)
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


# Producers, transactions and epochs after a kill


@pytest.mark.parametrize("recovery_point", [0, 10, 45, 90])
def test_t077_recover_without_snapshots_equals_with_snapshots(
    recovery_point: int,
) -> None:
    log = filled()
    sync(log, with_snapshot=True)
    produce(log, 3, producer=Producer(0, 1, 0))
    expected = producers(log)
    assert producers(reopened(log, recovery_point=recovery_point)) == expected
    files = files_of(log)
    for path in files.paths():
        if path.suffix == ".snapshot":
            files.unlink(path)
    assert producers(reopened(log, recovery_point=recovery_point)) == expected


def test_t094_corrupt_snapshot_falls_back_to_previous() -> None:
    log = filled()
    sync(log, with_snapshot=True)
    files_of(log).flip(DIRECTORY / f"{90:020d}.snapshot", 20)
    assert producers(reopened(log, recovery_point=90)) == producers(log)


def test_a_snapshot_above_the_end_is_not_believed() -> None:
    log = filled(batches=10)
    produce(log, 3, producer=Producer(9, 0, 0))
    ticket = log.begin_sync(with_snapshot=True)
    assert ticket
    assert ticket.snapshot
    files = files_of(log)
    files.power_cut()
    files.put(*ticket.snapshot)  # it was on the disk before the log was
    again = reopened(log, recovery_point=30)
    assert 9 not in producers(again)
    assert not files.exists(ticket.snapshot[0])


def test_silent_producers_are_not_loaded() -> None:
    log = closed(filled())
    again = reopened(log, was_clean=True, recovery_point=90, now_ms=NOW + 86_400_000)
    assert not producers(again)


@pytest.mark.parametrize("was_clean", [True, False])
def test_an_open_transaction_is_open_again(was_clean: bool) -> None:
    log = filled()
    produce(log, 3, producer=Producer(5, 0, 0), is_transactional=True)
    produce(log, 3, producer=Producer(6, 0, 0), is_transactional=True)
    marker = EndTxnMarker(ControlType.COMMIT, 0)
    append(log, build_marker_batch(marker, 6, 0, NOW), AppendOrigin.COORDINATOR)
    closed(log)
    again = reopened(log, was_clean=was_clean, recovery_point=97 if was_clean else 40)
    assert (again.last_stable_offset, again.high_watermark) == (90, 97)
    append(
        again,
        build_marker_batch(marker, 5, 0, NOW),
        AppendOrigin.COORDINATOR,
    )
    sync(again)
    assert again.last_stable_offset == again.high_watermark == 98


def test_epochs_come_from_the_batches_when_their_file_is_gone() -> None:
    log = filled(batches=5)
    produce(log, 3, leader_epoch=7)
    sync(log)
    files_of(log).unlink(DIRECTORY / "leader-epoch-checkpoint")
    again = reopened(log)
    assert (again.latest_epoch, again.epoch_end_offset(4)) == (7, (4, 15))


def test_an_epoch_that_leaps_is_not_believed() -> None:
    log = filled(batches=5)
    produce(log, 3)
    active = log.local.active
    found = active.find(15)
    assert found
    files_of(log).flip(active.log.path, found[0] + 12)  # 2**24
    again = reopened(log, recovery_point=15)
    assert again.latest_epoch == 4
    assert again.log_end_offset == 18


def test_t079_epochs_beyond_the_end_are_dropped() -> None:
    log = filled(batches=5)
    files_of(log).put(DIRECTORY / "leader-epoch-checkpoint", b"0\n3\n1 0\n4 6\n9 40\n")
    again = reopened(log, was_clean=True, recovery_point=15, log_start_offset=3)
    assert [tuple(each) for each in again.epochs.entries] == [(1, 3), (4, 6)]


def test_a_bad_epoch_file_does_not_stop_the_load() -> None:
    log = filled(batches=5)
    files_of(log).put(DIRECTORY / "leader-epoch-checkpoint", b"nonsense")
    assert reopened(log).latest_epoch == 4

"""Producers, transactions and leader epochs of a log that is opened again."""

import pytest

from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
)
from odradek.storage.producers.append_info import AppendOrigin
from odradek.storage.producers.snapshot import decode_snapshot, snapshot_path
from tests.storage.logs import (
    DIRECTORY,
    NOW,
    Producer,
    append,
    closed,
    files_of,
    filled,
    produce,
    producers,
    reopened,
    sync,
)


def test_t093_a_snapshot_keeps_only_the_last_batch() -> None:
    again = reopened(closed(filled()), was_clean=True, recovery_point=90)
    with pytest.raises(Exception, match="expected 45"):
        produce(again, 3, producer=Producer(1, 0, 39))


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
    ticket = log.syncing.begin(with_snapshot=True)
    assert ticket
    files = files_of(log)
    files.power_cut()
    ((offset, picture),) = ticket.snapshots.items()
    # It was on the disk before the log was.
    files.put(snapshot_path(DIRECTORY, offset), picture.encode())
    again = reopened(log, recovery_point=30)
    assert 9 not in producers(again)
    assert not files.exists(snapshot_path(DIRECTORY, offset))


def test_nor_one_beside_a_segment_that_was_read_again() -> None:
    log = filled()
    last = log.local.active.base_offset
    found = log.local.segments.floor(last - 1)
    assert found
    batch = found.reader.find(last - 1)
    assert batch
    files_of(log).flip(found.log.path, batch[0] + 80)
    again = reopened(log, recovery_point=40)
    beside = files_of(log).content(DIRECTORY / f"{last:020d}.snapshot")
    found_beside = {each.producer_id: each for each in decode_snapshot(beside)}
    assert found_beside[1].last_offset < last - 3
    assert producers(again) == producers(reopened(again, recovery_point=90))


def test_no_batch_is_taken_in_twice() -> None:
    log = filled()
    sync(log, with_snapshot=True)
    again = reopened(log, recovery_point=90)
    assert [len(each.batches) for each in again.producers] == [1, 1]


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
    found = active.reader.find(15)
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

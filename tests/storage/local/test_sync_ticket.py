"""One sync: what it writes, in which order, and what a power cut then leaves."""

import errno
from pathlib import Path

import pytest

from odradek.storage.files.files import StorageFailure
from odradek.storage.formats.producer_entry import parse_producers
from odradek.storage.local.sync_ticket import SyncTicket
from odradek.storage.log.retention import delete_old_segments
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.producers.snapshot import list_snapshots
from tests.fakes.files import FakeFiles
from tests.storage.logs import (
    DIRECTORY,
    NOW,
    TOPIC_ID,
    Producer,
    new_log,
    offsets,
    produce,
    reopened,
    sync,
)


def begun(log: UnifiedLog, with_snapshot: bool = False) -> SyncTicket:
    ticket = log.syncing.begin(with_snapshot)
    assert ticket is not None
    return ticket


def names_after_power_cut(files: FakeFiles) -> list[str]:
    files.power_cut()
    return [path.name for path in files.paths()]


def test_the_first_sync_keeps_the_directory_and_its_small_files() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log)
    sync(log)
    assert names_after_power_cut(files) == [
        "00000000000000000000.log",
        "leader-epoch-checkpoint",
        "partition.metadata",
    ]
    assert files.content("leader-epoch-checkpoint") == b"0\n1\n4 0\n"
    again = reopened(log, recovery_point=1)
    assert offsets(again) == [0]
    assert again.topic_id == TOPIC_ID


def test_later_ones_sync_one_file() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log)
    sync(log)
    files.counts.clear()
    produce(log)
    sync(log)
    assert files.counts == {"append": 1, "sync": 1}


def test_sealed_segments_go_with_indexes_and_snapshot() -> None:
    files = FakeFiles()
    log = new_log(files, index_interval_bytes=100)
    while len(log.local.segments) < 3:
        produce(log, producer=Producer(7, 0, log.log_end_offset))
    sync(log)
    second, third = (segment.base_offset for segment in list(log.local.segments)[1:])
    names = names_after_power_cut(files)
    for name in (
        f"{0:020d}.index",
        f"{second:020d}.index",
        f"{second:020d}.timeindex",
        f"{second:020d}.snapshot",
        f"{third:020d}.snapshot",
    ):
        assert name in names
        assert files.content(name)


def test_a_file_system_that_was_synced_leaves_the_rest_to_do() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log)
    ticket = begun(log)
    for file in ticket.files:
        file.sync()
    files.counts.clear()
    ticket.run()
    assert files.counts["sync"] == 1  # the leader epochs
    log.syncing.finish(ticket)
    files.power_cut()
    assert offsets(reopened(log, recovery_point=1)) == [0]


def test_a_snapshot_goes_with_the_indexes_and_replaces_the_last() -> None:
    files = FakeFiles()
    log = new_log(files, segment_bytes=100_000, index_interval_bytes=100)
    for _ in range(2):
        for _ in range(10):
            produce(log, producer=Producer(7, 0, log.log_end_offset))
        sync(log, with_snapshot=True)
    assert not files.exists(DIRECTORY / f"{10:020d}.snapshot")
    assert f"{20:020d}.snapshot" in names_after_power_cut(files)
    assert files.content(f"{0:020d}.index")
    assert log.syncing.begin(with_snapshot=True) is None


def test_a_snapshot_beside_a_segment_stays() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log, producer=Producer(7, 0, 0))
    sync(log, with_snapshot=True)
    log.roll(NOW)
    produce(log, producer=Producer(7, 0, 1))
    sync(log, with_snapshot=True)
    names = names_after_power_cut(files)
    assert f"{1:020d}.snapshot" in names
    assert f"{2:020d}.snapshot" in names


def test_a_failed_sync_is_told() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log)
    ticket = begun(log)
    files.fail("sync")
    with pytest.raises(StorageFailure):
        ticket.run()


def test_small_files_without_room_come_with_the_next_ticket() -> None:
    files = FakeFiles()
    files.fail("append", error=errno.ENOSPC)
    log = new_log(files)
    assert "partition.metadata" not in files.listdir(DIRECTORY)
    produce(log)
    ticket = begun(log)
    assert len(ticket.texts) == 2
    for nth in range(1, len(ticket.texts) + 1):
        files.fail("append", nth=nth, error=errno.ENOSPC)
    ticket.run()
    log.syncing.finish(ticket)
    assert log.recovery_point == 1
    assert not files.exists(DIRECTORY / "partition.metadata")
    sync(log)
    assert files.exists(DIRECTORY / "partition.metadata")
    assert files.exists(DIRECTORY / "leader-epoch-checkpoint")
    assert log.syncing.begin() is None


def test_a_snapshot_without_room_is_left_out() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log)
    sync(log)
    produce(log)
    ticket = begun(log, with_snapshot=True)
    files.fail("append", error=errno.ENOSPC)
    ticket.run()
    assert not [path for path in files.paths() if path.suffix == ".snapshot"]


def test_a_partition_deleted_meanwhile_is_no_failure() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log)
    ticket = begun(log, with_snapshot=True)
    gone = Path("/data/topic-0.0-delete")
    files.rename(DIRECTORY, gone)
    log.retire(gone)
    ticket.run()
    log.syncing.finish(ticket)
    assert log.syncing.begin() is None


def test_a_roll_leaves_its_snapshot_to_the_sync() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log, producer=Producer(7, 0, 0))
    log.roll(NOW)
    produce(log, producer=Producer(8, 0, 0))
    path = DIRECTORY / f"{1:020d}.snapshot"
    assert not files.exists(path)
    sync(log)
    files.power_cut()
    (known,) = parse_producers(files.content(path))
    assert known.producer_id == 7


def test_a_snapshot_whose_segment_is_gone_is_not_left_behind() -> None:
    files = FakeFiles()
    log = new_log(files)
    for number in range(3):
        produce(log, producer=Producer(7, 0, number))
        log.roll(NOW)
    ticket = begun(log)
    for number in range(3, 5):
        produce(log, producer=Producer(7, 0, number))
        log.roll(NOW)
    log.visibility.raise_to(4)
    log.increment_log_start(4)
    assert len(delete_old_segments(log, NOW)) == 4
    ticket.run()
    assert list_snapshots(files, DIRECTORY) == [1, 2, 3]
    log.syncing.finish(ticket)
    assert list_snapshots(files, DIRECTORY) == []
    log.visibility.raise_to(5)
    log.increment_log_start(5)
    assert len(delete_old_segments(log, NOW)) == 1
    sync(log)
    assert list_snapshots(files, DIRECTORY) == [5]


def test_truncation_takes_from_a_ticket_what_is_gone() -> None:
    log = new_log(segment_bytes=200)
    for _ in range(5):
        produce(log, 2, value=bytes(40))
    ticket = begun(log, with_snapshot=True)
    log.truncation.truncate_to(5, NOW)
    ticket.run()
    log.syncing.finish(ticket)
    assert log.recovery_point == 5
    again = begun(log)
    assert again.has_new_names  # files were renamed
    again.run()
    log.syncing.finish(again)
    assert log.syncing.begin() is None


def test_a_directory_that_somebody_removed_is_a_failure() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log)
    sync(log)
    produce(log)
    ticket = begun(log, with_snapshot=True)
    files.rmtree(DIRECTORY)
    ticket.run()
    with pytest.raises(StorageFailure, match="gone"):
        log.syncing.finish(ticket)
    assert log.is_failed
    assert log.recovery_point == 1


def test_a_directory_that_was_renamed_for_deletion_is_none() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log)
    ticket = begun(log, with_snapshot=True)
    target = DIRECTORY.with_name("topic-0-delete")
    files.rename(DIRECTORY, target)
    log.retire(target)
    ticket.run()
    log.syncing.finish(ticket)

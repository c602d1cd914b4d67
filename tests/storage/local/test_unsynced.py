"""What a checkpoint writes of a log, and what a start then knows of its producers."""

import errno
import itertools

import pytest

from odradek.storage.local import unsynced
from odradek.storage.local.sync_ticket import SyncTicket
from odradek.storage.local.unsynced import SNAPSHOTS_DUE_MAX
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.producers.snapshot import list_snapshots
from tests.fakes.files import FakeFiles
from tests.storage.logs import (
    DIRECTORY,
    NOW,
    Producer,
    new_log,
    produce,
    producers,
    reopened,
    sync,
)


def checkpoint(log: UnifiedLog) -> SyncTicket | None:
    ticket = log.syncing.begin_checkpoint()
    if ticket is not None:
        ticket.run()
        log.syncing.finish(ticket)
    return ticket


def test_a_checkpoint_writes_a_snapshot_for_so_many_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unsynced, "SNAPSHOT_BYTES", 1000)
    files = FakeFiles()
    log = new_log(files, segment_bytes=100_000)
    found = []
    for _ in range(40):
        produce(log, producer=Producer(7, 0, log.log_end_offset))
        ticket = checkpoint(log)
        assert ticket is not None
        if ticket.snapshots:
            found.append(ticket.end.position)
    steps = [later - first for first, later in itertools.pairwise([0, *found])]
    assert len(steps) > 1
    assert all(1000 <= step < 1200 for step in steps), steps
    assert log.recovery_point == 40
    again = reopened(log, recovery_point=40)
    assert producers(again) == producers(log)


def test_of_a_synced_log_a_checkpoint_asks_nothing_but_its_index_entries() -> None:
    files = FakeFiles()
    log = new_log(files, segment_bytes=100_000, index_interval_bytes=1000)
    produce(log, producer=Producer(7, 0, 0))
    sync(log)
    files.counts.clear()
    assert checkpoint(log) is None
    assert not files.counts
    while not log.local.active.indexes.has_new_entries:
        produce(log, producer=Producer(7, 0, log.log_end_offset))
    sync(log)
    ticket = checkpoint(log)
    assert ticket is not None
    assert not ticket.snapshots
    assert not log.local.active.indexes.has_new_entries
    assert checkpoint(log) is None
    files.power_cut()
    assert files.content(f"{0:020d}.index")


def test_a_snapshot_without_room_is_due_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsynced, "SNAPSHOT_BYTES", 1)
    files = FakeFiles()
    log = new_log(files)
    sync(log)
    produce(log, producer=Producer(7, 0, 0))
    checkpoint(log)
    produce(log, producer=Producer(7, 0, 1))
    ticket = log.syncing.begin_checkpoint()
    assert ticket is not None
    files.fail("append", error=errno.ENOSPC)
    ticket.run()
    log.syncing.finish(ticket)
    assert list_snapshots(files, DIRECTORY) == [1]
    checkpoint(log)
    assert list_snapshots(files, DIRECTORY) == [2]


def test_without_room_for_any_snapshot_a_stop_is_not_clean() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log, producer=Producer(7, 0, 0))
    sync(log)
    files.fail("append", nth=2, error=errno.ENOSPC)  # behind that of the time index
    assert not log.close()
    assert not list_snapshots(files, DIRECTORY)
    files.heal()
    assert producers(reopened(log, recovery_point=1)) == producers(log)


def test_without_room_but_with_an_older_snapshot_it_is() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log, producer=Producer(7, 0, 0))
    sync(log, with_snapshot=True)
    produce(log, producer=Producer(7, 0, 1))
    sync(log)
    files.fail("append", nth=2, error=errno.ENOSPC)
    assert log.close()
    assert list_snapshots(files, DIRECTORY) == [1]
    files.heal()
    again = reopened(log, was_clean=True, recovery_point=2)
    assert producers(again) == producers(log)


def test_of_many_rolls_that_nobody_syncs_the_last_keep_their_snapshots() -> None:
    files = FakeFiles()
    log = new_log(files)
    for number in range(SNAPSHOTS_DUE_MAX + 5):
        produce(log, producer=Producer(7, 0, number))
        log.roll(NOW)
    sync(log)
    assert list_snapshots(files, DIRECTORY) == list(range(6, SNAPSHOTS_DUE_MAX + 6))

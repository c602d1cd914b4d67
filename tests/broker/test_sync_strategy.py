import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from broker.sync_strategy import SyncStrategy, file_system_sync
from storage.files import StorageFailure


@dataclass
class DirtyFile:
    is_dirty: bool = True


@dataclass
class FakeTicket:
    disk: "FakeDisk"
    files: list[DirtyFile] = field(default_factory=list)
    run_count: int = 0

    def run(self) -> None:
        self.run_count += 1
        for file in self.files:
            if file.is_dirty:
                self.disk.sync_file(file)


class FakeDisk:
    """Syncs cost what the test says, by a clock that they move."""

    def __init__(self, file_ms: float, file_system_ms: float) -> None:
        self.file_ms, self.file_system_ms = file_ms, file_system_ms
        self.seconds = 0.0
        self.file_syncs = self.file_system_syncs = 0

    def now(self) -> float:
        return self.seconds

    def sync_file(self, file: DirtyFile) -> None:
        file.is_dirty = False
        self.file_syncs += 1
        self.seconds += self.file_ms / 1000

    def sync_file_system(self) -> None:
        self.file_system_syncs += 1
        self.seconds += self.file_system_ms / 1000

    def tickets(self, count: int) -> list[FakeTicket]:
        return [FakeTicket(self, [DirtyFile()]) for _ in range(count)]


def strategy(disk: FakeDisk) -> SyncStrategy:
    return SyncStrategy(disk.sync_file_system, disk.now)


def test_one_dirty_file_is_synced_by_itself() -> None:
    disk = FakeDisk(file_ms=5, file_system_ms=0.1)
    chosen = strategy(disk)
    for _ in range(10):
        chosen.sync(disk.tickets(1))
    assert (disk.file_syncs, disk.file_system_syncs) == (10, 0)


def test_many_dirty_files_are_synced_at_once() -> None:
    disk = FakeDisk(file_ms=0.25, file_system_ms=1.5)
    chosen = strategy(disk)
    tickets = disk.tickets(64)
    files = [ticket.files[0] for ticket in tickets]
    chosen.sync(tickets)
    assert (disk.file_syncs, disk.file_system_syncs) == (0, 1)
    assert not any(file.is_dirty for file in files)
    assert all(ticket.run_count == 1 for ticket in tickets), "names and small files"


def test_a_file_that_gets_dirty_during_the_call_is_left_to_the_next_ticket() -> None:
    disk = FakeDisk(file_ms=0.25, file_system_ms=1.5)
    tickets = disk.tickets(64)
    file = tickets[0].files[0]

    def append_meanwhile() -> None:
        file.is_dirty = True

    SyncStrategy(append_meanwhile, disk.now).sync(tickets)
    assert file.is_dirty
    assert disk.file_syncs == 0


def test_a_slow_file_system_is_left_alone_and_tried_again_later() -> None:
    disk = FakeDisk(file_ms=0.1, file_system_ms=500)
    chosen = strategy(disk)
    for _ in range(100):
        chosen.sync(disk.tickets(16))
    assert disk.file_system_syncs == 1
    disk.file_system_ms = 0.5
    for _ in range(1500):
        chosen.sync(disk.tickets(16))
    assert disk.file_system_syncs > 100


def test_without_syncfs_every_file_is_synced() -> None:
    disk = FakeDisk(file_ms=0.1, file_system_ms=0.1)
    SyncStrategy(None, disk.now).sync(disk.tickets(64))
    assert disk.file_syncs == 64


def test_the_real_call_syncs_and_reports(tmp_path: Path) -> None:
    sync = file_system_sync(tmp_path)
    if sync is None:
        pytest.skip("no syncfs on this system")
    (tmp_path / "file").write_bytes(b"x")
    sync()
    os.remove(tmp_path / "file")
    tmp_path.rmdir()
    with pytest.raises(StorageFailure, match="sync of the file system"):
        sync()

import ctypes
import errno
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import pytest

from odradek.broker.durability.sync_strategy import (
    FileSystemSync,
    SyncStrategy,
    file_system_sync,
)
from odradek.storage.files.files import StorageFailure


@dataclass
class DirtyFile:
    is_dirty: bool = True


@dataclass
class FakeTicket:
    disk: "FakeDisk"
    files: list[DirtyFile] = field(default_factory=list)
    texts: dict[str, bytes] = field(default_factory=dict)
    has_new_names: bool = False
    snapshots: dict[int, bytes] = field(default_factory=dict)
    is_plain: bool = True
    error: StorageFailure | None = None
    run_count: int = 0

    def write_small_files(self, syncs: bool) -> None:
        assert not syncs
        self.disk.steps.append("written")

    def sync_files(self) -> None:
        assert not self.files

    def rename_small_files(self) -> None:
        self.disk.steps.append("renamed")

    def remove_replaced(self) -> None:
        self.disk.steps.append("removed")

    def run(self) -> None:
        self.run_count += 1
        if self.error is not None:
            raise self.error
        for file in self.files:
            if file.is_dirty:
                self.disk.sync_file(file)


class FakeDisk:
    """Syncs cost what the test says, by a clock that they move."""

    def __init__(self, file_ms: float, file_system_ms: float) -> None:
        self.file_ms, self.file_system_ms = file_ms, file_system_ms
        self.seconds = 0.0
        self.file_syncs = self.file_system_syncs = 0
        self.steps: list[str] = []
        self._lock = Lock()

    def now(self) -> float:
        return self.seconds

    def sync_file(self, file: DirtyFile) -> None:
        file.is_dirty = False
        with self._lock:
            self.file_syncs += 1
            self.seconds += self.file_ms / 1000

    def tickets(self, count: int) -> list[FakeTicket]:
        return [FakeTicket(self, [DirtyFile()]) for _ in range(count)]


class FakeFileSystem:
    """All of a disk; ``meanwhile`` is what happens during a sync of it."""

    number = -1

    def __init__(
        self, disk: FakeDisk, meanwhile: Callable[[], None] | None = None
    ) -> None:
        self.disk, self.meanwhile = disk, meanwhile

    def __call__(self) -> None:
        self.disk.file_system_syncs += 1
        self.disk.steps.append("synced")
        self.disk.seconds += self.disk.file_system_ms / 1000
        if self.meanwhile is not None:
            self.meanwhile()

    def failure(self, error_number: int) -> StorageFailure:
        raise AssertionError("it works")


def strategy(disk: FakeDisk) -> SyncStrategy:
    return SyncStrategy(FakeFileSystem(disk), disk.now)


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
    assert not any(ticket.run_count for ticket in tickets), "nothing is left to do"


def test_names_and_small_files_come_after_the_bytes() -> None:
    disk = FakeDisk(file_ms=0.25, file_system_ms=1.5)
    tickets = disk.tickets(64)
    for ticket in tickets[:3]:
        ticket.is_plain = False
    tickets[0].texts = {"partition.metadata": b"x"}
    tickets[1].has_new_names = True
    tickets[2].snapshots = {1: b"x"}
    strategy(disk).sync(tickets)
    assert [ticket.run_count for ticket in tickets[:4]] == [1, 1, 1, 0]


def test_a_checkpoint_of_few_logs_writes_nothing_of_strangers() -> None:
    disk = FakeDisk(file_ms=5, file_system_ms=0.1)
    chosen = strategy(disk)
    for _ in range(10):
        tickets = [FakeTicket(disk, [DirtyFile(), DirtyFile()]) for _ in range(3)]
        for ticket in tickets:
            ticket.is_plain, ticket.snapshots = False, {1: b"x"}
        chosen.sync([*tickets, *disk.tickets(1)])
    assert (disk.file_syncs, disk.file_system_syncs) == (70, 0)


def test_many_with_small_files_are_synced_by_two_calls() -> None:
    disk = FakeDisk(file_ms=0.25, file_system_ms=1.5)
    tickets = disk.tickets(8)
    for ticket in tickets[:4]:
        ticket.is_plain, ticket.snapshots = False, {1: b"x"}
    files = [ticket.files[0] for ticket in tickets]
    strategy(disk).sync(tickets)
    steps = ["written", "synced", "renamed", "synced", "removed"]
    assert disk.steps == [
        each for step in steps for each in [step] * (1 if step == "synced" else 4)
    ]
    assert not any(file.is_dirty for file in files)
    assert not any(ticket.run_count for ticket in tickets)


def test_a_few_with_small_files_are_not() -> None:
    disk = FakeDisk(file_ms=0.25, file_system_ms=0.1)
    tickets = disk.tickets(2)
    for ticket in tickets:
        ticket.is_plain, ticket.snapshots = False, {1: b"x"}
    strategy(disk).sync(tickets)
    assert all(ticket.run_count == 1 for ticket in tickets)


def test_a_failure_in_one_of_many_threads_is_raised_when_all_have_ended() -> None:
    disk = FakeDisk(file_ms=0.25, file_system_ms=1.5)
    tickets = disk.tickets(10)
    tickets[3].error = StorageFailure("expected by this test")
    with pytest.raises(StorageFailure, match="expected"):
        SyncStrategy(None, disk.now).sync(tickets)
    assert all(ticket.run_count == 1 for ticket in tickets)


def test_a_file_that_gets_dirty_during_the_call_is_left_to_the_next_ticket() -> None:
    disk = FakeDisk(file_ms=0.25, file_system_ms=1.5)
    tickets = disk.tickets(64)
    file = tickets[0].files[0]

    def append_meanwhile() -> None:
        file.is_dirty = True

    SyncStrategy(FakeFileSystem(disk, append_meanwhile), disk.now).sync(tickets)
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


def test_what_others_measured_counts() -> None:
    disk = FakeDisk(file_ms=0.25, file_system_ms=1.5)
    chosen = strategy(disk)
    assert chosen.prefers_one_call(8)
    chosen.note_one_call(1)
    assert not chosen.prefers_one_call(8)
    assert not SyncStrategy(None, disk.now).prefers_one_call(64)


def test_the_real_call_syncs(tmp_path: Path) -> None:
    sync = file_system_sync(tmp_path)
    if sync is None:
        pytest.skip("no syncfs on this system")
    (tmp_path / "file").write_bytes(b"x")
    sync()


def test_on_a_file_system_over_others_every_file_is_synced() -> None:
    assert file_system_sync(Path("/proc")) is None
    assert file_system_sync(Path("/proc/nothing")) is None


def test_a_failed_call_says_why(tmp_path: Path) -> None:
    def fail(descriptor: int) -> int:
        assert os.fstat(descriptor).st_ino == tmp_path.stat().st_ino
        ctypes.set_errno(errno.EIO)
        return -1

    with pytest.raises(StorageFailure, match=r"sync of .*: Input/output error"):
        FileSystemSync(tmp_path, fail)()


def test_the_directory_is_let_go(tmp_path: Path) -> None:
    opened: list[int] = []

    def sync(descriptor: int) -> int:
        opened.append(descriptor)
        return 0

    FileSystemSync(tmp_path, sync)()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened[0])

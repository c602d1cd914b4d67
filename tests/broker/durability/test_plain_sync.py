import asyncio
import ctypes
import errno
import os
import select
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.durability import committer, plain_sync
from odradek.broker.durability.committer import Committer
from odradek.broker.durability.plain_sync import PlainSync
from odradek.broker.durability.sync_strategy import (
    FileSystemSync,
    SyncStrategy,
    file_system_sync,
)
from odradek.storage.files.files import OsFile, OsFiles, StorageFailure
from odradek.storage.local.sync_ticket import SyncTicket
from odradek.storage.values.offset_metadata import OffsetMetadata
from tests.fakes.clock import FakeClock
from tests.fakes.files import FakeFiles
from tests.patience import PATIENCE_S

pytest.importorskip("odradek.broker.durability.sync_thread")


class FakeTicket:
    def __init__(self, *files: Any) -> None:
        self.files = list(files)
        self.texts: dict[str, bytes] = {}
        self.has_new_names = False
        self.snapshots: dict[int, Any] = {}
        self.is_plain = True

    def run(self) -> None:
        raise AssertionError("the long way")


class Outcome(asyncio.Future[float]):
    """What a sync came to."""

    def note(self, seconds: Any, error: BaseException | None) -> None:
        if error is None:
            self.set_result(seconds)
        else:
            self.set_exception(error)


@pytest.fixture
async def syncs() -> AsyncIterator[PlainSync]:
    made = PlainSync(SyncStrategy())
    yield made
    made.close()


@pytest.fixture
async def syncs_at_once(tmp_path: Path) -> AsyncIterator[PlainSync]:
    """Syncs the file system for more than some files."""
    file_system = file_system_sync(tmp_path)
    if file_system is None:
        pytest.skip("no syncfs on this system")
    made = PlainSync(SyncStrategy(file_system))
    yield made
    made.close()


def written(directory: Path, name: str = "log") -> OsFile:
    file = OsFiles().open(directory / name, create=True)
    assert isinstance(file, OsFile)
    file.append(b"records")
    return file


async def outcome_of(syncs: PlainSync, file: OsFile) -> float:
    outcome = Outcome()
    assert syncs.begin([FakeTicket(file)], outcome.note)
    return await asyncio.wait_for(outcome, PATIENCE_S)


async def test_it_syncs_one_file_after_the_other(
    tmp_path: Path, syncs: PlainSync
) -> None:
    for name in ("one", "two", "three"):
        file = written(tmp_path, name)
        assert await outcome_of(syncs, file) > 0
        assert not file.is_dirty


async def test_what_is_appended_meanwhile_is_dirty_afterwards(
    tmp_path: Path, syncs: PlainSync
) -> None:
    file, outcome = written(tmp_path), Outcome()
    assert syncs.begin([FakeTicket(file)], outcome.note)
    file.append(b"more")
    await outcome
    assert file.is_dirty


@pytest.mark.parametrize("files_of_a_ticket", [1, 64])
async def test_many_files_are_synced_at_once(
    tmp_path: Path, syncs_at_once: PlainSync, files_of_a_ticket: int
) -> None:
    files, outcome = [written(tmp_path, f"{place}") for place in range(64)], Outcome()
    tickets = [
        FakeTicket(*files[first : first + files_of_a_ticket])
        for first in range(0, 64, files_of_a_ticket)
    ]
    assert syncs_at_once.begin(tickets, outcome.note)
    assert not any(file.is_dirty for file in files)
    files[5].append(b"more")
    assert await asyncio.wait_for(outcome, PATIENCE_S) > 0
    assert [file for file in files if file.is_dirty] == [files[5]]


async def test_how_long_it_took_decides_how_the_next_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = FailingThread(0)
    thread.seconds = 3600.0
    monkeypatch.setattr(plain_sync, "sync_thread", thread)
    file_system = FileSystemSync(tmp_path, lambda _: 0)
    syncs, outcome = PlainSync(SyncStrategy(file_system)), Outcome()
    tickets = [FakeTicket(written(tmp_path, f"{place}")) for place in range(64)]
    assert syncs.begin(tickets, outcome.note)
    assert await asyncio.wait_for(outcome, PATIENCE_S) == 3600
    assert thread.asked == [(file_system.number, True)]
    for ticket in tickets:
        ticket.files[0].append(b"more")
    assert not syncs.begin(tickets, Outcome().note)
    assert all(ticket.files[0].is_dirty for ticket in tickets)
    syncs.close()


def let_syncs_fail(held: Any) -> None:
    """Put what cannot be synced in the place of a descriptor."""
    reading, writing = os.pipe()
    os.dup2(reading, held.number)
    os.close(reading)
    os.close(writing)


async def test_a_failed_sync_of_many_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_sync, "sync_thread", FailingThread(errno.EIO))
    file_system = FileSystemSync(tmp_path, lambda _: 0)
    syncs, outcome = PlainSync(SyncStrategy(file_system)), Outcome()
    files = [written(tmp_path, f"{place}") for place in range(64)]
    assert syncs.begin([FakeTicket(*files)], outcome.note)
    with pytest.raises(StorageFailure, match="Input/output error") as raised:
        await asyncio.wait_for(outcome, PATIENCE_S)
    assert str(raised.value) == str(file_system.failure(errno.EIO))
    syncs.close()


async def test_a_failed_sync_says_which_file_and_why(
    tmp_path: Path, syncs: PlainSync
) -> None:
    file = written(tmp_path)
    let_syncs_fail(file.lease())
    with pytest.raises(StorageFailure, match=f"sync of {file.path} failed") as raised:
        await outcome_of(syncs, file)
    cause = raised.value.__cause__
    assert isinstance(cause, OSError)
    assert cause.errno == errno.EINVAL


async def test_a_file_that_is_closed_meanwhile_stays_open_for_the_sync(
    tmp_path: Path, syncs: PlainSync
) -> None:
    file, outcome = written(tmp_path), Outcome()
    number = file.lease().number
    assert syncs.begin([FakeTicket(file)], outcome.note)
    file.close()
    os.fstat(number)
    await outcome
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


class FailingThread:
    """In place of `sync_thread`: the disk has this error for every sync."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.asked: list[tuple[int, bool]] = []
        self.seconds = 0.0
        self.reading, self.writing = os.pipe()

    def start(self) -> "FailingThread":
        return self

    def fileno(self, thread: Any) -> int:
        return self.reading

    def begin(self, thread: Any, number: int, is_file_system: bool) -> None:
        self.asked.append((number, is_file_system))
        os.write(self.writing, b"1")

    def take(self, thread: Any) -> tuple[int, float] | None:
        if not self.asked:
            return None
        os.read(self.reading, 1)
        return self.number, self.seconds

    def stop(self, thread: Any) -> None:
        os.close(self.writing)


class Written:
    """A partition whose log is these files."""

    def __init__(self, *files: OsFile) -> None:
        self.files = files
        self.was_durable = False

    def begin_sync(self, for_checkpoint: bool = False) -> SyncTicket:
        ticket = SyncTicket(OsFiles(), self.files[0].path.parent, OffsetMetadata(1))
        ticket.files += self.files
        return ticket

    def finish_sync(self, ticket: Any) -> None:
        self.was_durable = True

    def on_durable(self) -> None:
        self.was_durable = True


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("is_plain", [True, False])
@pytest.mark.parametrize("count", [1, 64])
async def test_a_failed_sync_fails_what_waited_on_either_way(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_plain: bool,
    number: int,
    count: int,
) -> None:
    calls: list[int] = []

    def fail(descriptor: int) -> int:
        calls.append(descriptor)
        ctypes.set_errno(number)
        if count == 1:
            raise OSError(number, os.strerror(number))
        return -1

    thread = FailingThread(number) if is_plain else None
    monkeypatch.setattr(plain_sync, "sync_thread", thread)
    monkeypatch.setattr(os, "fdatasync", fail)
    file_system = FileSystemSync(tmp_path, fail)
    monkeypatch.setattr(committer, "file_system_sync", lambda _: file_system)
    told: list[StorageFailure] = []
    tested = Committer(FakeClock(), BrokerConfig(log_dirs=(tmp_path,)))
    tested.on_failure = lambda _, error: told.append(error)
    directory = tested.for_directory(tmp_path)
    partitions = [Written(written(tmp_path, f"{place}")) for place in range(count)]
    for partition in partitions:
        directory.mark_dirty(partition)
    with pytest.raises(StorageFailure) as raised:
        await directory.flush()
    failure = raised.value
    if count == 1:
        assert isinstance(failure.__cause__, OSError)
        said = partitions[0].files[0].sync_failure(failure.__cause__)
        assert str(failure) == str(said)
        assert str(failure).endswith(f"its tail is unknown: {os.strerror(number)}")
        assert failure.__cause__.errno == number
    else:
        assert str(failure) == str(file_system.failure(number))
    assert told == [failure]
    assert not any(partition.was_durable for partition in partitions)
    directory.mark_dirty(partitions[0])
    with pytest.raises(StorageFailure):
        await directory.flush()
    assert len(thread.asked if thread else calls) == 1, "a failed sync is final"
    assert bool(calls) is not is_plain
    tested.close()


async def test_a_thread_that_takes_nothing_fails_what_waited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = FailingThread(0)
    monkeypatch.setattr(plain_sync, "sync_thread", thread)
    monkeypatch.setattr(thread, "begin", None)  # as one that was built long ago
    tested = Committer(FakeClock(), BrokerConfig(log_dirs=(tmp_path,)))
    directory = tested.for_directory(tmp_path)
    directory.mark_dirty(Written(written(tmp_path)))
    with pytest.raises(StorageFailure, match=r"a sync of .* broke"):
        await asyncio.wait_for(directory.flush(), PATIENCE_S)
    tested.close()


async def test_what_needs_more_than_files_goes_the_long_way(
    tmp_path: Path, syncs_at_once: PlainSync
) -> None:
    for count in (1, 64):
        files = [written(tmp_path, f"{place}") for place in range(count)]
        tickets = [FakeTicket(file) for file in files]
        tickets[-1].is_plain = False
        assert not syncs_at_once.begin(tickets, Outcome().note)
        assert all(file.is_dirty for file in files)


async def test_some_files_and_those_of_others_go_the_long_way(
    tmp_path: Path, syncs: PlainSync
) -> None:
    file, clean = written(tmp_path), written(tmp_path, "clean")
    clean.sync()
    files = FakeFiles()
    files.mkdir(tmp_path)
    foreign = files.open(tmp_path / "foreign", create=True)
    foreign.append(b"records")
    for tickets in (
        [],
        [FakeTicket()],
        [FakeTicket(file), FakeTicket(file)],
        [FakeTicket(file, file)],
        [FakeTicket(clean)],
        [FakeTicket(foreign)],
    ):
        assert not syncs.begin(tickets, Outcome().note)


async def test_a_file_that_is_gone_goes_the_long_way(
    tmp_path: Path, syncs: PlainSync
) -> None:
    file = written(tmp_path)
    file.close()
    file.path.unlink()
    assert not syncs.begin([FakeTicket(file)], Outcome().note)


async def test_what_is_under_way_ends_before_the_thread(tmp_path: Path) -> None:
    syncs, outcome = PlainSync(SyncStrategy()), Outcome()
    assert syncs.begin([FakeTicket(written(tmp_path))], outcome.note)
    syncs.close()
    assert await asyncio.wait_for(outcome, PATIENCE_S) > 0
    assert not syncs.begin([FakeTicket(written(tmp_path, "late"))], outcome.note)


async def test_without_the_thread_all_go_the_long_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_sync, "sync_thread", None)
    syncs = PlainSync(SyncStrategy())
    assert not syncs.begin([FakeTicket(written(tmp_path))], Outcome().note)
    syncs.close()


def test_the_thread_syncs_a_file_system_or_says_why_not(tmp_path: Path) -> None:
    from odradek.broker.durability import sync_thread

    number = os.open(tmp_path, os.O_RDONLY)
    thread = sync_thread.start()

    def sync() -> Any:
        sync_thread.begin(thread, number, True)
        select.select([sync_thread.fileno(thread)], [], [], 30)
        return sync_thread.take(thread)

    error_number, seconds = sync()
    assert error_number == 0
    assert seconds > 0
    os.close(number)
    error_number, _ = sync()
    assert error_number == errno.EBADF
    sync_thread.stop(thread)


def test_the_thread_takes_one_sync_at_a_time_and_none_at_its_end(
    tmp_path: Path,
) -> None:
    from odradek.broker.durability import sync_thread

    held = written(tmp_path).lease()
    thread = sync_thread.start()
    assert sync_thread.take(thread) is None
    sync_thread.begin(thread, held.number, False)
    with pytest.raises(RuntimeError, match="has a sync"):
        sync_thread.begin(thread, held.number, False)
    sync_thread.stop(thread)
    sync_thread.stop(thread)
    result = sync_thread.take(thread)
    assert result is not None
    assert result[0] == 0
    with pytest.raises(RuntimeError, match="has ended"):
        sync_thread.begin(thread, held.number, False)
    for function in (sync_thread.take, sync_thread.stop, sync_thread.fileno):
        with pytest.raises(ValueError, match="PyCapsule_GetPointer"):
            function(None)  # type: ignore[arg-type]

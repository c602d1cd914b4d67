import asyncio
import errno
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from broker import plain_sync
from broker.committer import Committer
from broker.config.broker_config import BrokerConfig
from broker.plain_sync import PlainSync
from storage.files import OsFile, OsFiles, StorageFailure
from storage.offset_metadata import OffsetMetadata
from storage.sync_ticket import SyncTicket
from tests.fakes.clock import FakeClock
from tests.fakes.files import FakeFiles

pytest.importorskip("broker.sync_thread")


class FakeTicket:
    def __init__(self, *files: Any) -> None:
        self.files = list(files)
        self.finished: list[Any] = []
        self.texts: dict[str, bytes] = {}
        self.has_new_names = False
        self.snapshot: Any = None

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
    made = PlainSync()
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
    return await asyncio.wait_for(outcome, 30)


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


async def test_a_failed_sync_says_which_file_and_why(
    tmp_path: Path, syncs: PlainSync
) -> None:
    file = written(tmp_path)
    reading, writing = os.pipe()  # what cannot be synced
    held = file.lease()
    os.dup2(reading, held.number)
    os.close(reading)
    os.close(writing)
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
        self.begun = 0
        self.reading, self.writing = os.pipe()

    def start(self) -> "FailingThread":
        return self

    def fileno(self, thread: Any) -> int:
        return self.reading

    def begin(self, thread: Any, number: int) -> None:
        self.begun += 1
        os.write(self.writing, b"1")

    def take(self, thread: Any) -> tuple[int, float] | None:
        if not self.begun:
            return None
        os.read(self.reading, 1)
        return self.number, 0.0

    def stop(self, thread: Any) -> None:
        os.close(self.writing)


class OneFile:
    """A partition whose log is one file."""

    def __init__(self, file: OsFile) -> None:
        self.file = file
        self.was_durable = False

    def begin_sync(self, with_snapshot: bool = False) -> SyncTicket:
        ticket = SyncTicket(OsFiles(), self.file.path.parent, OffsetMetadata(1))
        ticket.files.append(self.file)
        return ticket

    def finish_sync(self, ticket: Any) -> None:
        self.was_durable = True

    def on_durable(self) -> None:
        self.was_durable = True


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("is_plain", [True, False])
async def test_a_failed_sync_fails_what_waited_on_either_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_plain: bool, number: int
) -> None:
    calls: list[int] = []

    def fail(descriptor: int) -> None:
        calls.append(descriptor)
        raise OSError(number, os.strerror(number))

    thread = FailingThread(number) if is_plain else None
    monkeypatch.setattr(plain_sync, "sync_thread", thread)
    monkeypatch.setattr(os, "fdatasync", fail)
    told: list[StorageFailure] = []
    committer = Committer(FakeClock(), BrokerConfig(log_dirs=(tmp_path,)))
    committer.on_failure = lambda _, error: told.append(error)
    directory, partition = committer.for_directory(tmp_path), OneFile(written(tmp_path))
    directory.mark_dirty(partition)
    with pytest.raises(StorageFailure, match="failed; its tail is unknown") as raised:
        await directory.flush()
    assert isinstance(raised.value.__cause__, OSError)
    assert raised.value.__cause__.errno == number
    assert told == [raised.value]
    assert not partition.was_durable
    directory.mark_dirty(partition)
    with pytest.raises(StorageFailure):
        await directory.flush()
    assert (thread.begun if thread else len(calls)) == 1, "a failed sync is final"
    assert bool(calls) is not is_plain
    committer.close()


@pytest.mark.parametrize(
    "more",
    [
        {"texts": {"partition.metadata": b""}},
        {"has_new_names": True},
        {"snapshot": ("0.snapshot", b"")},
        {"finished": [None]},
        {"files": []},
    ],
)
async def test_what_needs_more_than_one_file_goes_the_long_way(
    tmp_path: Path, syncs: PlainSync, more: dict[str, Any]
) -> None:
    file = written(tmp_path)
    ticket = FakeTicket(file)
    vars(ticket).update(more)
    assert not syncs.begin([ticket], Outcome().note)
    assert file.is_dirty


async def test_several_tickets_and_other_files_go_the_long_way(
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
    syncs, outcome = PlainSync(), Outcome()
    assert syncs.begin([FakeTicket(written(tmp_path))], outcome.note)
    syncs.close()
    assert await asyncio.wait_for(outcome, 30) > 0
    assert not syncs.begin([FakeTicket(written(tmp_path, "late"))], outcome.note)


async def test_without_the_thread_all_go_the_long_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_sync, "sync_thread", None)
    syncs = PlainSync()
    assert not syncs.begin([FakeTicket(written(tmp_path))], Outcome().note)
    syncs.close()


def test_the_thread_takes_one_sync_at_a_time_and_none_at_its_end(
    tmp_path: Path,
) -> None:
    from broker import sync_thread

    held = written(tmp_path).lease()
    thread = sync_thread.start()
    assert sync_thread.take(thread) is None
    sync_thread.begin(thread, held.number)
    with pytest.raises(RuntimeError, match="has a sync"):
        sync_thread.begin(thread, held.number)
    sync_thread.stop(thread)
    sync_thread.stop(thread)
    result = sync_thread.take(thread)
    assert result is not None
    assert result[0] == 0
    with pytest.raises(RuntimeError, match="has ended"):
        sync_thread.begin(thread, held.number)
    for function in (sync_thread.take, sync_thread.stop, sync_thread.fileno):
        with pytest.raises(ValueError, match="PyCapsule_GetPointer"):
            function(None)  # type: ignore[arg-type]
